"""Repeated tokens, counted one by one (Table 9 of the paper)."""

from collections.abc import Sequence


def repetition_rate(lines: Sequence[str]) -> float:
    """Of all tokens, those that equal the token before them in the same line."""
    repeated = tokens = 0
    for line in lines:
        before = None
        for token in line.split():
            tokens += 1
            if token == before:
                repeated += 1
            before = token
    return repeated / tokens
