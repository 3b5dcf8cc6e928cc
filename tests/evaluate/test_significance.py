"""Paired tests: sacrebleu's p-values, and the laws that a test obeys."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from axenat.evaluate.bleu import bleu_counts
from axenat.evaluate.counts import NUM_SAMPLES, ROWS_AT_ONCE, Counts, count
from axenat.evaluate.significance import both_tests, p_value_of_shares, paired_bootstrap, paired_randomisation
from axenat.evaluate.ter import ter_counts
from tests.texts import CLOSE, GOOD, POOR, REFERENCES, damaged, sentences

FAR = GOOD, POOR
NEAR = GOOD, CLOSE


def counts(lines: list[str], metric: Any = BLEU) -> Counts:
    return count(metric(), lines, REFERENCES)


def of_sacrebleu(a: list[str], b: list[str], metric: Any, kind: str, draws: int) -> Any:
    _, results = PairedTest([("b", b), ("a", a)], {"m": metric}, None, kind, draws)()
    return next(results[name][1] for name in results if name != "System")


@pytest.mark.parametrize("metric", [BLEU, CHRF])
@pytest.mark.parametrize("pair", [FAR, NEAR], ids=["far", "near"])
@pytest.mark.parametrize(
    ("test", "kind", "draws"), [(paired_bootstrap, "bs", 1000), (paired_randomisation, "ar", 2500)]
)
def test_p_values_are_those_of_sacrebleu(metric: Any, pair: Any, test: Any, kind: str, draws: int) -> None:
    a, b = pair
    theirs = of_sacrebleu(a, b, metric(references=REFERENCES), kind, draws)
    first, second = counts(a, metric), counts(b, metric)
    ours = test(first, second, **{"bs": {"num_samples": draws}, "ar": {"num_trials": draws}}[kind])
    assert ours[{"bs": "p_value", "ar": "p_value_randomisation"}[kind]] == theirs.p_value
    assert first.score() == pytest.approx(theirs.score, abs=1e-9)


def test_near_systems_have_p_values_that_could_differ() -> None:
    """Else the law above would compare the least p-values that there are."""
    found = both_tests(*map(counts, NEAR))
    assert 0.05 < found["p_value"] < 1 and 0.05 < found["p_value_randomisation"] < 1


def test_trials_of_any_number_of_sentences_are_those_of_sacrebleu() -> None:
    """Blocks must not break the stream of random bits."""
    for size in (33, 45):  # so many that no two trials are equal
        lines = sentences(4, size)
        a, b = damaged(lines, 0.3, 1), damaged(lines, 0.35, 2)
        theirs = of_sacrebleu(a, b, BLEU(references=[lines]), "ar", 3 * ROWS_AT_ONCE + 5)
        ours = paired_randomisation(bleu_counts(a, [lines]), bleu_counts(b, [lines]), num_trials=3 * ROWS_AT_ONCE + 5)
        assert ours["p_value_randomisation"] == theirs.p_value


def test_a_system_does_not_differ_from_itself() -> None:
    found = both_tests(counts(GOOD), counts(GOOD))
    assert (found["difference"], found["p_value"], found["p_value_randomisation"]) == (0.0, 1.0, 1.0)


def test_a_difference_in_one_sentence_is_none_by_randomisation() -> None:
    """Swapped or not, the distance is the same."""
    other = [*GOOD[:-1], POOR[-1]]
    assert paired_randomisation(counts(GOOD), counts(other))["p_value_randomisation"] == 1.0


def test_swapping_the_systems_turns_the_sign_and_keeps_the_bootstrap() -> None:
    forth, back = both_tests(*map(counts, FAR)), both_tests(*map(counts, FAR[::-1]))
    assert forth["difference"] == -back["difference"] > 0
    assert forth["p_value"] == back["p_value"] < 0.05
    assert forth["p_value_randomisation"] == pytest.approx(back["p_value_randomisation"], abs=0.01)


def test_randomisation_comes_near_the_exact_test() -> None:
    """With six sentences all 64 ways of swapping can be tried."""
    lines = sentences(8, 6)
    a, b = bleu_counts(damaged(lines, 0.2, 1), [lines]), bleu_counts(damaged(lines, 0.4, 3), [lines])
    measured, as_far = abs(a.score() - b.score()), 0
    for swaps in itertools.product([False, True], repeat=6):
        swapped = np.array(swaps)[:, None]
        one, other = (np.where(swapped, *order).sum(0) for order in ((a.rows, b.rows), (b.rows, a.rows)))
        as_far += abs(a.score_of(one) - a.score_of(other)) >= measured - 1e-9
    assert 2 < as_far < 64
    assert paired_randomisation(a, b)["p_value_randomisation"] == pytest.approx(as_far / 64, abs=0.02)


def test_shares_are_those_of_all_sentences_and_not_their_mean() -> None:
    """Of three sentences all eight ways of swapping can be tried; the shares are 3 and 12 of 30."""
    a, b = (np.array(rows, dtype=float) for rows in ([[0, 10], [1, 18], [2, 2]], [[4, 10], [8, 18], [0, 2]]))
    as_far = 0
    for swaps in itertools.product([False, True], repeat=3):
        swapped = np.array(swaps)[:, None]
        one, other = (np.where(swapped, *order).sum(0) for order in ((a, b), (b, a)))
        as_far += abs(one[0] / one[1] - other[0] / other[1]) >= 9 / 30 - 1e-9
    assert as_far == 4
    assert p_value_of_shares(a, b) == pytest.approx(as_far / 8, abs=0.02)


def test_shares_of_nothing_are_equal() -> None:
    assert p_value_of_shares(np.zeros((3, 2)), np.zeros((3, 2))) == 1.0


INTERVALS = {BLEU: bleu_counts, CHRF: partial(count, CHRF()), TER: ter_counts}


@pytest.mark.parametrize("metric", INTERVALS, ids=lambda metric: metric.__name__)
@pytest.mark.parametrize("lines", [GOOD, POOR], ids=["good", "poor"])
def test_an_interval_is_as_wide_as_sacrebleus_and_of_the_same_samples(metric: Any, lines: list[str]) -> None:
    """It counts in single precision."""
    theirs = metric().corpus_score(lines, REFERENCES, n_bootstrap=NUM_SAMPLES)
    ours = INTERVALS[metric](lines, REFERENCES)
    low, high = ours.interval()
    assert (high - low) / 2 == pytest.approx(theirs._ci, abs=1e-4)
    assert np.mean(ours.resampled()) == pytest.approx(theirs._mean, abs=1e-4)


@pytest.mark.parametrize("num_samples", [200, 1000])
def test_one_sample_in_forty_lies_below_an_interval_and_as_many_above(num_samples: int) -> None:
    found = counts(GOOD)
    scores, (low, high) = found.resampled(num_samples), found.interval(num_samples)
    assert ((scores < low).sum(), (scores > high).sum()) == (num_samples // 40, num_samples // 40)
