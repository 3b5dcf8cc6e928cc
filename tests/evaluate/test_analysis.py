import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.evaluate.analysis import (
    accepted_share,
    length_buckets,
    position_confidence,
    repetition_rate,
)
from axenat.evaluate.bleu import bleu
from axenat.files import UserError
from tests.reference import compare_mt
from tests.texts import GOOD, REFERENCES

LINES = [" ".join(f"w{number}" for number in range(length)) for length in (0, 1, 4, 5, 9, 10, 11, 19, 20, 55)]


def test_repetition_counts_tokens_equal_to_their_left_neighbour() -> None:
    # 3 of 8 tokens; the neighbour across a line end does not count.
    assert repetition_rate(["a a a b", "b c", "c c"]) == 3 / 8


def test_nothing_repeats_in_nothing() -> None:
    assert repetition_rate([]) == repetition_rate(["", ""]) == 0.0


@given(st.sets(st.integers(1, 60), min_size=1))
def test_buckets_partition_the_set(bounds: set[int]) -> None:
    buckets = length_buckets(LINES, [LINES], bounds=sorted(bounds))
    assert sum(bucket["num_sentences"] for bucket in buckets) == len(LINES)
    assert [bucket["high"] for bucket in buckets] == [*[bucket["low"] for bucket in buckets[1:]], None]
    assert all((bucket["bleu"] is None) == (bucket["num_sentences"] == 0) for bucket in buckets)


def test_a_bucket_holds_its_low_bound_and_not_its_high_one() -> None:
    counts = [bucket["num_sentences"] for bucket in length_buckets(LINES, [LINES])]
    assert counts == [5, 3, 1, 0, 0, 1]  # 0 1 4 5 9 | 10 11 19 | 20 | | | 55


@given(st.lists(st.sampled_from(range(5, 15)), min_size=1, max_size=4, unique=True).map(sorted))
def test_buckets_are_those_of_compare_mt(cutoffs: list[int]) -> None:
    """Its cutoffs end buckets, our bounds begin them; the first of ours only names the bucket that is open below."""
    (reference, _) = REFERENCES
    buckets = length_buckets(GOOD, [reference], bounds=[1, *cutoffs], tokenize="none")
    for place, bucket in enumerate(buckets):
        inside = [i for i, line in enumerate(reference) if compare_mt.bucket_of(line, cutoffs) == place]
        assert bucket["num_sentences"] == len(inside)
        if inside:
            theirs = compare_mt.bleu([GOOD[i] for i in inside], [reference[i] for i in inside])
            assert bucket["bleu"] == pytest.approx(theirs)


def test_one_bucket_for_all_is_the_score_of_the_set() -> None:
    hypotheses = [line.replace("w3", "w4") for line in LINES]
    references = [LINES, [f"{line} w1" for line in LINES]]
    (bucket,) = length_buckets(hypotheses, references, bounds=[1])
    assert bucket["bleu"] == bleu(hypotheses, references, num_bootstrap=0)["bleu"]


def test_bounds_that_do_not_rise_are_refused() -> None:
    with pytest.raises(UserError, match="rise"):
        length_buckets(LINES, [LINES], bounds=[10, 5])


def test_only_a_match_of_the_whole_line_is_accepted() -> None:
    patterns = ["er kauft (heute )?ein Auto", "sie (schläft|ruht)", "ja"]
    assert accepted_share(["er kauft ein Auto", "sie schläft gut", "ja"], patterns) == pytest.approx(2 / 3)


def test_patterns_must_pair_up_and_be_patterns() -> None:
    with pytest.raises(UserError, match="1 hypotheses but 2 patterns"):
        accepted_share(["a"], ["a", "b"])
    with pytest.raises(UserError, match="pattern 2"):
        accepted_share(["a", "b"], ["a", "(b"])
    with pytest.raises(UserError, match="empty"):
        accepted_share([], [])


def test_confidence_averages_the_diagonals_of_all_sentences() -> None:
    rng = np.random.default_rng(3)
    matrices = [rng.random((size, size)) for size in (1, 3, 6)]
    result = position_confidence(matrices, max_offset=4)
    for offset, mean in zip(result["offsets"], result["probability"], strict=True):
        pairs = [m[k, k + offset] for m in matrices for k in range(len(m)) if 0 <= k + offset < len(m)]
        assert mean == pytest.approx(sum(pairs) / len(pairs))
    assert result["num_sentences"] == 3


def test_an_offset_no_sentence_reaches_has_no_probability() -> None:
    result = position_confidence([[[0.9, 0.2], [0.1, 0.8]]], max_offset=2)
    assert result["probability"] == pytest.approx([None, 0.1, 0.85, 0.2, None])
    assert position_confidence([], max_offset=1)["probability"] == [None, None, None]


def test_a_blank_position_keeps_its_place_and_does_not_count() -> None:
    with_blank = np.eye(4)
    with_blank[2] = np.nan
    assert position_confidence([with_blank], max_offset=1)["probability"] == [0.0, 1.0, 0.0]


def test_a_perfectly_sharp_model_is_one_at_zero_and_nothing_elsewhere() -> None:
    result = position_confidence([np.eye(5), np.eye(7)], max_offset=3)
    assert result["probability"] == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def test_a_matrix_that_is_not_square_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="square"):
        position_confidence([np.ones((2, 3))])
