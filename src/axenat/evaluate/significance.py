"""Is one system's score really different from another's? Two paired tests, with the p-values of sacrebleu's.

A sample or trial as far out as the measured difference counts against it, so that a system does not differ from itself
(sacrebleu leaves these out, and reports the least p-value it can there); otherwise p-values are equal.
"""

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
    """Riezler and Maxwell (2005): if both are one system, swapping their outputs at random makes as much difference.

    numpy takes random bits from words of 32 and begins a new word with each call: blocks of a multiple of 32 rows are
    the bits that sacrebleu draws all at once.
    """
    rng, size = np.random.default_rng(seed), len(a.rows)
    difference, both = a.score() - b.score(), a.rows.sum(0) + b.rows.sum(0)
    distances = []
    for start in range(0, num_trials, ROWS_AT_ONCE):
        kept = rng.integers(2, size=(min(ROWS_AT_ONCE, num_trials - start), size), dtype=bool)
        sums = kept @ b.rows + ~kept @ a.rows
        distances.append(np.abs(a.scores_of(sums) - a.scores_of(both - sums)))
    return {
        "p_value_randomisation": _p_value(np.concatenate(distances), difference),
        "num_trials": num_trials,
    }


def both_tests(a: Counts, b: Counts) -> dict[str, Any]:
    return paired_bootstrap(a, b) | paired_randomisation(a, b)


def _p_value(distances: Floats, difference: float) -> float:
    """One is added, so that no p-value is below what so many draws can tell."""
    # The difference of rounded scores is not always that of the same scores in another order.
    num_beyond = int(np.sum(distances >= abs(difference) - 1e-9))
    return (num_beyond + 1) / (len(distances) + 1)
