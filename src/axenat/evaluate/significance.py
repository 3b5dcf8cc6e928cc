"""Is one system's score really different from another's? Two paired tests, with the p-values of sacrebleu's.

A sample or trial as far out as the measured difference counts against it, so that a system does not differ from itself
(sacrebleu leaves these out, and reports the least p-value it can there); otherwise p-values are equal.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from axenat.evaluate.counts import NUM_SAMPLES, ROWS_AT_ONCE, SEED, Counts, Floats

NUM_TRIALS = 10_000


def paired_bootstrap(a: Counts, b: Counts, *, num_samples: int = NUM_SAMPLES, seed: int = SEED) -> dict[str, Any]:
    """Koehn (2004), with the shifted two-sided statistic of sacrebleu: how often chance alone goes as far."""
    difference = a.score() - b.score()
    distances = np.abs(a.resampled(num_samples, seed) - b.resampled(num_samples, seed))
    return {
        "difference": difference,
        "p_value": _p_value(distances - distances.mean(), difference),
        "num_samples": num_samples,
        "test": "paired bootstrap",
    }


def paired_randomisation(a: Counts, b: Counts, *, num_trials: int = NUM_TRIALS, seed: int = SEED) -> dict[str, Any]:
    """Riezler and Maxwell (2005): if both are one system, swapping their outputs at random makes as much difference."""
    trials = _swapped(a.rows, b.rows, num_trials, seed)
    distances = np.concatenate([np.abs(a.scores_of(one) - a.scores_of(other)) for one, other in trials])
    return {"p_value_randomisation": _p_value(distances, a.score() - b.score()), "num_trials": num_trials}


def p_value_of_shares(a: Floats, b: Floats, *, num_trials: int = NUM_TRIALS, seed: int = SEED) -> float:
    """The same test of two shares; each row holds the part and the whole of one sentence."""
    trials = _swapped(a, b, num_trials, seed)
    distances = np.concatenate([np.abs(_share(one) - _share(other)) for one, other in trials])
    return _p_value(distances, (_share(a.sum(0)) - _share(b.sum(0))).item())


def _share(sums: Floats) -> Floats:
    """Of nothing, none."""
    shares: Floats = sums[..., 0] / np.maximum(sums[..., 1], 1.0)
    return shares


def _swapped(a: Floats, b: Floats, num_trials: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """What the rows of two systems add up to in each trial, in blocks.

    numpy takes random bits from words of 32 and begins a new word with each call: blocks of a multiple of 32 rows are
    the bits that sacrebleu draws all at once.
    """
    rng, both = np.random.default_rng(seed), a.sum(0) + b.sum(0)
    for start in range(0, num_trials, ROWS_AT_ONCE):
        kept = rng.integers(2, size=(min(ROWS_AT_ONCE, num_trials - start), len(a)), dtype=bool)
        sums = kept @ b + ~kept @ a
        yield sums, both - sums


def both_tests(a: Counts, b: Counts) -> dict[str, Any]:
    return paired_bootstrap(a, b) | paired_randomisation(a, b)


def _p_value(distances: Floats, difference: float) -> float:
    """One is added, so that no p-value is below what so many draws can tell."""
    # The difference of rounded scores is not always that of the same scores in another order.
    num_beyond = int(np.sum(distances >= abs(difference) - 1e-9))
    return (num_beyond + 1) / (len(distances) + 1)
