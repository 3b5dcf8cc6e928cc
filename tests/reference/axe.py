"""Slow truths about aligned cross entropy, as the paper writes them. Lists are counted from 0, the paper from 1."""

import math
from collections.abc import Iterator
from itertools import combinations_with_replacement


def algorithm_1(
    log_probs: list[list[float]], targets: list[int], blank: int, delta: float, first_column: str = "paper"
) -> float:
    """Algorithm 1 line by line."""
    return table_of_algorithm_1(log_probs, targets, blank, delta, first_column)[len(targets)][len(log_probs)]


def table_of_algorithm_1(
    log_probs: list[list[float]], targets: list[int], blank: int, delta: float, first_column: str = "paper"
) -> list[list[float]]:
    n, m = len(targets), len(log_probs)

    def log_p(j: int, token: int) -> float:
        return log_probs[j - 1][token]

    y = [-1, *targets]
    a = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        a[i][0] = a[i - 1][0] - delta * log_p(1, y[i]) if first_column == "paper" else math.inf
    for j in range(1, m + 1):
        a[0][j] = a[0][j - 1] - log_p(j, blank)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            align = a[i - 1][j - 1] - log_p(j, y[i])
            skip_prediction = a[i][j - 1] - log_p(j, blank)
            skip_target = a[i - 1][j] - delta * log_p(j, y[i])
            a[i][j] = min(align, skip_prediction, skip_target)
    return a


def monotone_alignments(n: int, m: int) -> Iterator[tuple[int, ...]]:
    """Every alpha with alpha(1) <= ... <= alpha(n)."""
    return combinations_with_replacement(range(m), n)


def equation_1(log_probs: list[list[float]], targets: list[int], blank: int, alpha: tuple[int, ...]) -> float:
    """The loss of one alignment."""
    aligned = -sum(log_probs[j][token] for j, token in zip(alpha, targets, strict=True))
    return aligned - sum(log_probs[k][blank] for k in range(len(log_probs)) if k not in alpha)


def equation_2(log_probs: list[list[float]], targets: list[int], blank: int) -> float:
    """The least loss of all monotone alignments."""
    alignments = monotone_alignments(len(targets), len(log_probs))
    return min(equation_1(log_probs, targets, blank, alpha) for alpha in alignments)


def smoothed_inside(log_probs: list[list[float]], share: float) -> list[list[float]]:
    """What Algorithm 1 reads if every cost is (1 - e) * -log P_j(y) + (e / V) * sum over v of -log P_j(v)."""
    return [[(1 - share) * p + share * sum(row) / len(row) for p in row] for row in log_probs]
