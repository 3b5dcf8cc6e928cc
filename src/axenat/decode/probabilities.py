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
"""


def describe_probabilities(path: Path, **how: Any) -> dict[str, Any]:
    """As `describe_alignment`, for one pair; `how` as `axe_align` takes it."""
    vocabulary, probabilities, targets = _read(path)
    log_probs = probabilities.clamp(min=torch.finfo(torch.float64).tiny).log()
    ids = [vocabulary.index(token) for token in targets]
    alignment = axe_align(
        log_probs[None], torch.tensor([ids], dtype=torch.long).view(1, -1),
        prediction_lengths=torch.tensor([len(log_probs)]), target_lengths=torch.tensor([len(ids)]),
        blank_id=vocabulary.index(BLANK), **how,
    )  # fmt: skip
    delta = how.get("skip_target_penalty", 1.0)
    words = vocabulary.__getitem__
    return describe(log_probs, ids, alignment, delta, lambda some: [*map(words, some)], vocabulary.index(BLANK))


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
    wrong = ((probabilities < 0).any(1) | ((probabilities.sum(1) - 1).abs() > 1e-3)).nonzero().flatten().tolist()
    if wrong:
        raise UserError(f"{path}: probabilities: row {wrong[0] + 1} must be numbers from 0 to 1 that add up to 1")
    return vocabulary, probabilities, targets
