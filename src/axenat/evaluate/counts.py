"""What a metric counts in each sentence: the score of any selection of sentences follows from sums of its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axenat.evaluate.scorable import check_scorable

SEED = 12345  # sacrebleu's own default, so that its tests draw the same samples
NUM_SAMPLES = 1000
ROWS_AT_ONCE = 320  # a multiple of 32: see significance.paired_randomisation
DECIMALS = 10  # exp(log(100)) is 100 and a few units in the last place

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Counts:
    """One row a sentence; the metric is one of sacrebleu's."""

    rows: Floats
    metric: Any

    @property
    def signature(self) -> str:
        return str(self.metric.get_signature())

    def score(self) -> float:
        """Of all sentences."""
        return self.score_of(self.rows.sum(0))

    def sentence_scores(self) -> Floats:
        return self.scores_of(self.rows)

    def score_of(self, sums: Floats) -> float:
        """As sacrebleu's own tests call it: there is no public way from counts to a score for all metrics."""
        return round(float(self.metric._compute_score_from_stats(sums.tolist()).score), DECIMALS)

    def scores_of(self, sums: Floats) -> Floats:
        """One score for each row of sums."""
        return np.array([self.score_of(each) for each in sums])

    def resampled(self, num_samples: int = NUM_SAMPLES, seed: int = SEED) -> Floats:
        """Scores of bootstrap samples: sentences drawn with replacement, the same ones for every system."""
        rng, size = np.random.default_rng(seed), len(self.rows)
        scores = []
        for start in range(0, num_samples, ROWS_AT_ONCE):
            drawn = rng.choice(size, size=(min(ROWS_AT_ONCE, num_samples - start), size), replace=True)
            times = np.stack([np.bincount(sample, minlength=size) for sample in drawn]).astype(np.float64)
            scores.append(self.scores_of(times @ self.rows))
        return np.concatenate(scores)

    def interval(self, num_samples: int = NUM_SAMPLES, seed: int = SEED) -> tuple[float, float]:
        """The 95 % bootstrap interval."""
        scores, tail, whole = np.sort(self.resampled(num_samples, seed)), num_samples // 40, self.score()
        # On a handful of sentences the score of the whole set can fall outside its own resamples.
        return min(whole, scores[tail].item()), max(whole, scores[-1 - tail].item())


def count(metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Counts:
    """What one of sacrebleu's metrics counts in each sentence."""
    check_scorable(hypotheses, references)
    rows = metric._extract_corpus_statistics(hypotheses, references)
    return Counts(rows=np.array(rows, dtype=np.float64), metric=metric)
