"""Slow truths about a model on a blank page: which targets and predictions AXE skips, and what sits where."""

import math

import torch

from axenat.data.batches import pad
from axenat.data.vocab import BLANK, EOS, MASK
from axenat.model.transformer import Transformer
from tests.reference.axe import table_of_algorithm_1


@torch.inference_mode()
def blank_page_log_probs(model: Transformer, source: list[int], length: int) -> list[list[float]]:
    """One row of the vocabulary for each of so many positions, of one sentence alone."""
    ids, lengths = pad([source])
    encoded = model.encode(ids, lengths)
    canvas = torch.full((1, length), MASK)
    states = model.decode(canvas, torch.tensor([length]), encoded, causal=False)
    rows: list[list[float]] = (states[0] @ model.output_matrix.T).double().log_softmax(-1).tolist()
    return rows


@torch.inference_mode()
def length_log_probs(model: Transformer, source: list[int]) -> list[float]:
    """Of each number of target tokens, from 0."""
    logits = model.encode(*pad([source])).length_logits
    assert logits is not None
    classes: list[float] = logits[0].double().log_softmax(-1).tolist()
    return classes


def half_up(number: float) -> int:
    return math.floor(number + 0.5)


def num_skips(log_probs: list[list[float]], targets: list[int], delta: float) -> tuple[int, int]:
    """Targets and predictions that the best path through the table of Algorithm 1 skips, from its end back."""
    table = table_of_algorithm_1(log_probs, targets, BLANK, delta)
    i, j = len(targets), len(log_probs)
    skipped_targets = skipped_predictions = 0
    while i or j:
        ways = []
        if i and j:
            ways.append((table[i - 1][j - 1] - log_probs[j - 1][targets[i - 1]], "align"))
        if j:
            ways.append((table[i][j - 1] - log_probs[j - 1][BLANK], "skip prediction"))
        if i:
            ways.append((table[i - 1][j] - delta * log_probs[max(j, 1) - 1][targets[i - 1]], "skip target"))
        way = min(ways)[1]
        i, j = i - (way != "skip prediction"), j - (way != "skip target")
        skipped_targets += way == "skip target"
        skipped_predictions += way == "skip prediction"
    return skipped_targets, skipped_predictions


def skip_rates(
    model: Transformer, pairs: list[tuple[list[int], list[int]]], multiplier: float, delta: float
) -> tuple[float, float]:
    """Shares of the targets and of the predictions of all pairs of ids that are skipped."""
    skipped_targets = skipped_predictions = num_targets = num_predictions = 0
    for source, target in pairs:
        length = half_up(len(target) * multiplier)
        targets, predictions = num_skips(blank_page_log_probs(model, source, length), target, delta)
        skipped_targets, skipped_predictions = skipped_targets + targets, skipped_predictions + predictions
        num_targets, num_predictions = num_targets + len(target), num_predictions + length
    return skipped_targets / num_targets, skipped_predictions / num_predictions


def generated_at(log_probs: list[list[float]], banned: tuple[int, ...]) -> list[int | None]:
    """The likeliest allowed token of each position, or None if it is none of the translation."""
    tokens = []
    for row in log_probs:
        best = max((token for token in range(len(row)) if token not in banned), key=row.__getitem__)
        tokens.append(None if best in (BLANK, EOS) else best)
    return tokens


def mean_confidence(sentences: list[list[list[float]]], banned: tuple[int, ...], offset: int) -> float | None:
    """How likely the token of a position is so many positions further right, over all positions of all sentences."""
    found = []
    for log_probs in sentences:
        for k, token in enumerate(generated_at(log_probs, banned)):
            if token is not None and 0 <= k + offset < len(log_probs):
                found.append(math.exp(log_probs[k + offset][token]))
    return sum(found) / len(found) if found else None
