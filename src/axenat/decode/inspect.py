"""What a trained model's predictions look like beside a reference: AXE alignments and position confidence."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from axenat.data.batches import pad
from axenat.data.vocab import BLANK, EOS
from axenat.decode.parallel import length_candidates
from axenat.decode.translator import Translator
from axenat.losses.axe import Alignment, Op, axe_align
from axenat.objectives.masking import blank_page

TOP = 5
ROWS = 64  # sentences of a batch


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
    return {"skip_target_penalty": objective.skip_target_penalty, "first_column": objective.first_column}


@torch.inference_mode()
def align_batch(
    translator: Translator, sources: list[list[int]], targets: list[list[int]], **how: Any
) -> tuple[Tensor, Tensor, Alignment]:
    """Log-probabilities on a blank page of the reference's length, and the best alignment of the reference."""
    target, lengths = (tensor.to(translator.device) for tensor in pad(targets))
    logits = _logits(translator, sources, lengths)
    alignment = axe_align(logits, target, prediction_lengths=lengths, target_lengths=lengths, blank_id=BLANK, **how)
    return logits.log_softmax(-1), lengths, alignment


def skip_rates(translator: Translator, words: list[str], targets: list[str]) -> dict[str, float]:
    """The paper's diagnostics on a blank page: shares of targets and of predictions skipped."""
    skipped_targets = skipped_predictions = total = 0
    for start in range(0, len(words), ROWS):
        _, lengths, alignment = align_batch(
            translator,
            [translator.encode(line) for line in words[start : start + ROWS]],
            [translator.encode_target(line) for line in targets[start : start + ROWS]],
            **aligns(translator),
        )
        skipped_targets += int((alignment.operator == Op.SKIP_TARGET).sum())
        skipped_predictions += int(alignment.skipped_prediction.sum())
        total += int(lengths.sum())
    return {"skip_target_rate": skipped_targets / total, "skip_prediction_rate": skipped_predictions / total}


def describe_alignment(translator: Translator, source: str, target: str, **how: Any) -> dict[str, Any]:
    """One pair, as the paper's Figure 2 shows it; both sides tokenised."""
    how = aligns(translator) | how
    targets = translator.encode_target(target)
    log_probs, _, alignment = align_batch(translator, [translator.encode(source)], [targets], **how)
    words = translator.target_vocab.decode
    return {
        "source": source,
        **describe(log_probs[0], targets, alignment, how["skip_target_penalty"], words, BLANK),
    }


def describe(
    log_probs: Tensor,  # (m V)
    targets: list[int],
    alignment: Alignment,  # of this one sentence
    delta: float,
    words: Callable[[list[int]], list[str]],
    blank_id: int,
) -> dict[str, Any]:
    """Predictions, targets, operators and costs in plain values, for text, pictures and files."""
    chosen, operators = alignment.prediction_of_target[0].tolist(), alignment.operator[0].tolist()
    weights = {int(Op.ALIGN): 1.0, int(Op.SKIP_TARGET): delta}
    names = {int(Op.ALIGN): "align", int(Op.SKIP_TARGET): "skip_target"}
    top = log_probs.topk(min(TOP, log_probs.shape[1]))
    return {
        "targets": words(targets),
        "prediction_of_target": chosen,
        "operators": [names[op] for op in operators],
        "target_costs": [
            -weights[op] * float(log_probs[j, token]) for op, j, token in zip(operators, chosen, targets, strict=True)
        ],
        "predictions": [
            {
                "top": [[word, float(p.exp())] for word, p in zip(words(ids.tolist()), values, strict=True)],
                "skipped": bool(skipped),
                "blank_cost": -float(log_probs[j, blank_id]),
            }
            for j, (ids, values, skipped) in enumerate(
                zip(top.indices, top.values, alignment.skipped_prediction[0], strict=True)
            )
        ],
        "total": float(alignment.total[0]),
        "skip_target_penalty": delta,
    }


@torch.inference_mode()
def generated_probabilities(translator: Translator, words: str) -> npt.NDArray[np.float64]:
    """(m m): row k is the probability of the token generated at k, evaluated at every position (Figure 3).

    Rows of positions that gave no output token (a blank or <eos>) are nan: they count nowhere.
    """
    model = translator.model
    source, lengths = (tensor.to(translator.device) for tensor in pad([translator.encode(words)]))
    length_logits = model.encode(source, lengths).length_logits
    assert length_logits is not None
    length = length_candidates(length_logits, 1, translator.value, model.max_positions)[:, 0]
    probabilities = _logits(translator, [translator.encode(words)], length)[0].softmax(-1)
    allowed = probabilities.clone()
    allowed[:, list(translator.objective.banned)] = 0.0
    generated = allowed.argmax(-1)
    rows = probabilities[:, generated].T.double()
    rows[(generated == BLANK) | (generated == EOS)] = torch.nan
    return rows.cpu().numpy()
