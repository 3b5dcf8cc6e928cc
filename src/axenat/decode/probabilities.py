"""Predictions from a file instead of a model, to see how AXE aligns them."""

from pathlib import Path
from typing import Any

import torch

from axenat.decode.inspect import describe
from axenat.files import UserError, read_json
from axenat.losses.axe import axe_align

BLANK = "<blank>"
FORMAT = """\
a file of probabilities is JSON, one row a prediction and one column a word of the vocabulary:
  {"vocabulary": ["<blank>", "it", "is"], "probabilities": [[0.1, 0.8, 0.1], [0.1, 0.2, 0.7]], "targets": ["it", "is"]}
what has probability zero costs infinitely much, which is null in JSON
"""
TINY = torch.finfo(torch.float64).tiny  # stands for zero, so that the best of all alignments is found even so


def describe_probabilities(path: Path, **how: Any) -> dict[str, Any]:
    """As `describe_alignment`, for one pair; `how` as `axe_align` takes it."""
    vocabulary, probabilities, targets = _read(path)
    log_probs = probabilities.clamp(min=TINY).log()
    ids, blank_id = [vocabulary.index(token) for token in targets], vocabulary.index(BLANK)
    alignment = axe_align(
        log_probs[None], torch.tensor([ids], dtype=torch.long).view(1, -1),
        prediction_lengths=torch.tensor([len(log_probs)]), target_lengths=torch.tensor([len(ids)]),
        blank_id=blank_id, **how,
    )  # fmt: skip
    delta = how.get("skip_target_penalty", 1.0)
    words = vocabulary.__getitem__
    described = describe(log_probs, ids, alignment, delta, lambda some: [*map(words, some)], blank_id)
    return _with_infinite_costs(described, (probabilities < TINY).tolist(), ids, blank_id)


def _with_infinite_costs(
    described: dict[str, Any], impossible: list[list[bool]], ids: list[int], blank_id: int
) -> dict[str, Any]:
    """None, where probability zero is paid for."""
    chosen, costs, predictions = (described[key] for key in ("prediction_of_target", "target_costs", "predictions"))
    costs = [None if impossible[j][token] else cost for j, token, cost in zip(chosen, ids, costs, strict=True)]
    predictions = [
        one | ({"blank_cost": None} if row[blank_id] else {})
        for one, row in zip(predictions, impossible, strict=True)
    ]  # fmt: skip
    paid = [*costs, *(one["blank_cost"] for one in predictions if one["skipped"])]
    total = None if None in paid else described["total"]
    return described | {"target_costs": costs, "predictions": predictions, "total": total}


def _read(path: Path) -> tuple[list[str], torch.Tensor, list[str]]:
    """Vocabulary, probabilities (m V) and targets, or one sentence on what is wrong with them."""
    values = read_json(path)
    for key in ("vocabulary", "probabilities", "targets"):
        if not isinstance(values, dict) or not isinstance(values.get(key), list):
            raise UserError(f"{path}: {key} is missing or not a list; allowed are vocabulary, probabilities, targets")
    vocabulary, targets = ([str(word) for word in values[key]] for key in ("vocabulary", "targets"))
    if BLANK not in vocabulary or len(set(vocabulary)) != len(vocabulary):
        raise UserError(f"{path}: vocabulary must hold {BLANK}, and no word twice")
    unknown = [token for token in targets if token not in vocabulary]
    if unknown:
        raise UserError(f"{path}: targets: {unknown[0]!r} is not in the vocabulary")
    try:
        probabilities = torch.tensor(values["probabilities"], dtype=torch.float64)
    except (TypeError, ValueError):
        raise UserError(f"{path}: probabilities must be rows of as many numbers each") from None
    if probabilities.ndim != 2 or probabilities.shape[1] != len(vocabulary):
        raise UserError(
            f"{path}: probabilities must be rows of {len(vocabulary)} numbers, one a word of the vocabulary"
        )
    right = (probabilities >= 0).all(1) & ((probabilities.sum(1) - 1).abs() <= 1e-3)  # nan is not
    wrong = (~right).nonzero().flatten().tolist()
    if wrong:
        raise UserError(f"{path}: probabilities: row {wrong[0] + 1} must be numbers from 0 to 1 that add up to 1")
    return vocabulary, probabilities, targets
