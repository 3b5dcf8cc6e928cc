"""What every decoder returns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hypothesis:
    ids: list[int]  # as produced, <eos> and blanks included
    score: float  # normalised log-probability
    ended: bool = True  # by itself, not because there was no more room
