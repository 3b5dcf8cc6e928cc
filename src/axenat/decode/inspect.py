"""What a trained model's predictions look like beside a reference: AXE alignments and position confidence."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from axenat.data.batches import pad
from axenat.data.vocab import BLANK, EOS
from axenat.decode.parallel import length_candidates, shortest
from axenat.decode.translator import Translator
from axenat.losses.axe import Alignment, Op, axe_align
from axenat.objectives.masking import blank_page

TOP = 5
ROWS = 64  # sentences of a batch
# How a run is aligned that was trained with another loss.
UNALIGNED = {"skip_target_penalty": 1.0, "first_column": "paper", "label_smoothing": 0.1, "smoothing": "outside"}


def _logits(translator: Translator, sources: list[list[int]], lengths: Tensor) -> Tensor:
    """(B m V) on a blank page of these lengths."""
    source, source_lengths = pad(sources)
    model, device = translator.model, translator.device
    encoded = model.encode(source.to(device), source_lengths.to(device))
    canvas = blank_page(lengths.to(device))
    return (model.decode(canvas.ids, canvas.lengths, encoded, causal=False) @ model.output_matrix.T).float()


def aligns(translator: Translator) -> dict[str, Any]:
    """How the run was trained to align: arguments of `axe_align`."""
    objective = translator.folder.run.objective
    return {key: getattr(objective, key, default) for key, default in UNALIGNED.items()}


def predicted_ids(translator: Translator, ids: list[int]) -> list[int]:
    """A target as the run was trained to predict it: with its <eos>, or without if there is anything else."""
    drops = translator.objective.drops_eos and len(ids) > 1 and ids[-1] == EOS
    return ids[:-1] if drops else ids


def canvas_lengths(translator: Translator, target_lengths: Tensor) -> Tensor:
    """How many predictions there are in training for so many target tokens."""
    lengths = translator.objective.canvas_lengths(target_lengths)
    return lengths.clamp(max=translator.model.max_positions)


@torch.inference_mode()
def align_batch(
    translator: Translator, sources: list[list[int]], targets: list[list[int]], **how: Any
) -> tuple[Tensor, Tensor, Alignment]:
    """Log-probabilities on a blank page of the reference's length, and the best alignment of the reference."""
    kept = [predicted_ids(translator, ids) for ids in targets]
    target, lengths = (tensor.to(translator.device) for tensor in pad(kept))
    predictions = canvas_lengths(translator, lengths)
    logits = _logits(translator, sources, predictions)
    alignment = axe_align(logits, target, prediction_lengths=predictions, target_lengths=lengths, blank_id=BLANK, **how)
    return logits.log_softmax(-1), lengths, alignment


def skip_rates(translator: Translator, words: list[str], targets: list[str]) -> dict[str, float]:
    """The paper's diagnostics on a blank page: shares of targets and of predictions skipped."""
    skipped_targets = skipped_predictions = num_targets = num_predictions = 0
    for start in range(0, len(words), ROWS):
        _, lengths, alignment = align_batch(
            translator,
            [translator.encode(line) for line in words[start : start + ROWS]],
            [translator.encode_target(line) for line in targets[start : start + ROWS]],
            **aligns(translator),
        )
        skipped_targets += int((alignment.operator == Op.SKIP_TARGET).sum())
        skipped_predictions += int(alignment.skipped_prediction.sum())
        num_targets += int(lengths.sum())
        num_predictions += int(canvas_lengths(translator, lengths).sum())
    return {
        "skip_target_rate": skipped_targets / num_targets,
        "skip_prediction_rate": skipped_predictions / num_predictions,
    }


def describe_alignment(translator: Translator, source: str, target: str, **how: Any) -> dict[str, Any]:
    """One pair, as the paper's Figure 2 shows it; both sides tokenised."""
    how = aligns(translator) | how
    targets = predicted_ids(translator, translator.encode_target(target))
    log_probs, _, alignment = align_batch(translator, [translator.encode(source)], [targets], **how)
    words = translator.target.vocab.decode
    share = how["label_smoothing"] if how["smoothing"] == "inside" else 0.0
    return {
        "source": source,
        **describe(log_probs[0], targets, alignment, how["skip_target_penalty"], words, BLANK, share),
    }


def describe(
    log_probs: Tensor,  # (m V)
    targets: list[int],
    alignment: Alignment,  # of this one sentence
    delta: float,
    words: Callable[[list[int]], list[str]],
    blank_id: int,
    smoothed_inside: float = 0.0,  # the share of the probability that is spread in every cost
) -> dict[str, Any]:
    """Predictions, targets, operators and costs in plain values, for text, pictures and files."""
    costs = -log_probs
    if smoothed_inside:
        costs = (1 - smoothed_inside) * costs + smoothed_inside * costs.mean(-1, keepdim=True)
    chosen, operators = alignment.prediction_of_target[0].tolist(), alignment.operator[0].tolist()
    weights = {int(Op.ALIGN): 1.0, int(Op.SKIP_TARGET): delta}
    names = {int(Op.ALIGN): "align", int(Op.SKIP_TARGET): "skip_target"}
    top = log_probs.topk(min(TOP, log_probs.shape[1]))
    return {
        "targets": words(targets),
        "prediction_of_target": chosen,
        "operators": [names[op] for op in operators],
        "target_costs": [
            weights[op] * float(costs[j, token]) for op, j, token in zip(operators, chosen, targets, strict=True)
        ],
        "predictions": [
            {
                "top": [[word, float(p.exp())] for word, p in zip(words(ids.tolist()), values, strict=True)],
                "skipped": bool(skipped),
                "blank_cost": float(costs[j, blank_id]),
            }
            for j, (ids, values, skipped) in enumerate(
                zip(top.indices, top.values, alignment.skipped_prediction[0], strict=True)
            )
        ],
        "total": float(alignment.total[0]),
        "skip_target_penalty": delta,
    }


def num_operators(described: dict[str, Any]) -> int:
    """How many of the three operators an alignment uses."""
    skips_predictions = any(prediction["skipped"] for prediction in described["predictions"])
    return len(set(described["operators"])) + skips_predictions


@torch.inference_mode()
def generated_probabilities(translator: Translator, words: str) -> npt.NDArray[np.float64]:
    """(m m): row k is the probability of the token generated at k, evaluated at every position (Figure 3).

    Rows of positions that gave no output token (a blank or <eos>) are nan: they count nowhere.
    """
    model = translator.model
    source, lengths = (tensor.to(translator.device) for tensor in pad([translator.encode(words)]))
    length_logits = model.encode(source, lengths).length_logits
    assert length_logits is not None
    least = shortest(translator.objective.drops_eos)
    length = length_candidates(length_logits, 1, translator.value, model.max_positions, least)[:, 0]
    probabilities = _logits(translator, [translator.encode(words)], length)[0].softmax(-1)
    allowed = probabilities.clone()
    allowed[:, list(translator.objective.banned)] = 0.0
    generated = allowed.argmax(-1)
    rows = probabilities[:, generated].T.double()
    rows[(generated == BLANK) | (generated == EOS)] = torch.nan
    return rows.cpu().numpy()
