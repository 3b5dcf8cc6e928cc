"""What BLEU alone does not show (paper, section 5): repetition, length, validity, position confidence."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sacrebleu.metrics.bleu import BLEU

from axenat.evaluate.bleu import bleu
from axenat.evaluate.counts import Floats
from axenat.evaluate.scorable import check_scorable
from axenat.files import UserError

PAPER_BOUNDS = (1, 10, 20, 30, 40, 50)  # Table 8


def repetition_rate(lines: Sequence[str]) -> float:
    """Share of tokens equal to their left neighbour (Table 9); a line's first token has none."""
    num_repeated, num_tokens = repetition_counts(lines).sum(0).tolist()
    return float(num_repeated / num_tokens) if num_tokens else 0.0


def repetition_counts(lines: Sequence[str]) -> Floats:
    """For each line, how many tokens repeat the one before, and how many there are."""
    split = [line.split() for line in lines]
    return np.array([[sum(repeated_tokens(tokens)), len(tokens)] for tokens in split], dtype=np.float64).reshape(-1, 2)


def repeated_tokens(tokens: Sequence[str]) -> list[bool]:
    return [position > 0 and token == tokens[position - 1] for position, token in enumerate(tokens)]


def length_buckets(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    bounds: Sequence[int] = PAPER_BOUNDS,
    tokenize: str = "13a",
) -> list[dict[str, Any]]:
    """BLEU by the length of the first reference: `low` <= length < `high`, the last one open (Table 8).

    As in compare-mt the first bucket is open below: an empty reference line belongs to it.
    """
    check_scorable(hypotheses, references)
    if list(bounds) != sorted(set(bounds)) or not bounds:
        raise UserError(f"length bounds must rise, for example 1, 10, 20; got {list(bounds)}")
    split = BLEU(tokenize=tokenize).tokenizer
    members: list[list[int]] = [[] for _ in bounds]
    for sentence, reference in enumerate(references[0]):
        length = len(split(reference.rstrip()).split())
        members[max(0, bisect_right(bounds, length) - 1)].append(sentence)
    buckets = []
    for low, high, inside in zip(bounds, [*bounds[1:], None], members, strict=True):
        score = None
        if inside:
            chosen = [[reference[i] for i in inside] for reference in references]
            score = bleu([hypotheses[i] for i in inside], chosen, tokenize=tokenize, num_bootstrap=0)["bleu"]
        buckets.append({"low": low, "high": high, "num_sentences": len(inside), "bleu": score})
    return buckets


def accepted_share(tokenised_hypotheses: Sequence[str], patterns: Sequence[str]) -> float:
    """Share of sentences that are a valid translation: the whole line matches that sentence's pattern."""
    if len(tokenised_hypotheses) != len(patterns):
        raise UserError(
            f"{len(tokenised_hypotheses)} hypotheses but {len(patterns)} patterns of valid translations; "
            "each sentence needs one"
        )
    if not patterns:
        raise UserError("the test set is empty; a share of valid translations needs at least one sentence")
    num_accepted = 0
    for number, (hypothesis, pattern) in enumerate(zip(tokenised_hypotheses, patterns, strict=True), start=1):
        try:
            num_accepted += re.fullmatch(pattern, hypothesis) is not None
        except re.error as error:
            raise UserError(f"pattern {number} is not a regular expression ({error})") from None
    return num_accepted / len(patterns)


def position_confidence(probabilities: Sequence[ArrayLike], *, max_offset: int = 5) -> dict[str, Any]:
    """How sharply tokens sit on their position (Figure 3).

    `probabilities[s][k, j]` is the probability that position j of sentence s gives the token generated at
    position k; all pairs of all sentences with the same offset j - k are averaged. A row of NaN stands for a
    position that gave no token (a blank): it keeps its place and does not count.
    """
    offsets = list(range(-max_offset, max_offset + 1))
    totals, counts = np.zeros(len(offsets)), np.zeros(len(offsets), dtype=np.int64)
    for given in probabilities:
        matrix = np.asarray(given, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"expected one square matrix a sentence, got shape {matrix.shape}")
        for index, offset in enumerate(offsets):
            if abs(offset) < len(matrix):
                diagonal = np.diagonal(matrix, offset)
                diagonal = diagonal[~np.isnan(diagonal)]
                totals[index] += diagonal.sum()
                counts[index] += diagonal.size
    means = [float(total / count) if count else None for total, count in zip(totals, counts, strict=True)]
    return {"offsets": offsets, "probability": means, "num_sentences": len(probabilities)}
