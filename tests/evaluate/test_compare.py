"""Two outputs side by side: every number is one that is known elsewhere, and what differs most comes first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.evaluate.analysis import length_buckets, repetition_rate
from axenat.evaluate.bleu import bleu, bleu_counts
from axenat.evaluate.compare import compare_outputs, furthest
from axenat.evaluate.compare_text import comparison_text
from axenat.evaluate.significance import both_tests
from tests.texts import GOOD, POOR, REFERENCES

POOR_STUTTERS = [f"{line} so so" if place % 3 == 0 else line for place, line in enumerate(POOR)]


@pytest.fixture(scope="module")
def compared():
    bounds = [1, 6, 10]
    return compare_outputs(POOR_STUTTERS, GOOD, REFERENCES, language="de", bounds=bounds, num_examples=4, sources=GOOD)


def test_scores_buckets_and_lengths_are_those_of_each_output_alone(compared) -> None:
    main = compared["conventions"]["sacrebleu"]
    for side, lines in (("a", POOR_STUTTERS), ("b", GOOD)):
        alone = bleu(lines, REFERENCES)
        assert [main[side][key] for key in ("value", "low", "high")] == [
            alone[key] for key in ("bleu", "bleu_low", "bleu_high")
        ]
        assert compared["length_ratio"][side] == alone["length_ratio"]
        buckets = length_buckets(lines, REFERENCES, bounds=[1, 6, 10])
        assert [bucket[side] for bucket in compared["buckets"]] == [bucket["bleu"] for bucket in buckets]
        assert compared["repetition"][side] == repetition_rate(lines)  # these lines are tokenised as they stand


def test_differences_are_those_of_the_second_from_the_first(compared) -> None:
    main = compared["conventions"]["sacrebleu"]
    tests = both_tests(*(bleu_counts(lines, REFERENCES) for lines in (GOOD, POOR_STUTTERS)))
    assert {key: main[key] for key in tests} == tests
    assert main["difference"] == pytest.approx(main["b"]["value"] - main["a"]["value"]) and main["difference"] > 0
    assert compared["conventions"]["ter"]["difference"] < 0
    assert compared["conventions"].keys() == {"sacrebleu", "tokenised", "compound_split", "chrf", "ter"}


def test_an_output_does_not_differ_from_itself() -> None:
    same = compare_outputs(GOOD, GOOD, REFERENCES[:1])
    for one in same["conventions"].values():
        assert (one["difference"], one["p_value"], one["p_value_randomisation"]) == (0.0, 1.0, 1.0)
    assert same["examples"] == {"b_better": [], "a_better": []}
    assert "in no sentence" in comparison_text(same, ["one", "two"])


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20), st.integers(0, 5))
def test_the_largest_gains_come_first_and_losses_never(gains: list[float], number: int) -> None:
    found = furthest(np.array(gains), number)
    positive = sorted((gain for gain in gains if gain > 0), reverse=True)
    assert [gains[place] for place in found] == positive[:number]


def test_examples_are_lines_where_the_named_output_is_better(compared) -> None:
    for better, worse in (("b", "a"), ("a", "b")):
        found = compared["examples"][f"{better}_better"]
        assert len(found) <= 4 and all(each[f"{better}_chrf"] > each[f"{worse}_chrf"] for each in found)
        for each in found:
            place = each["line"] - 1
            assert (each["a"], each["b"], each["source"]) == (POOR_STUTTERS[place], GOOD[place], GOOD[place])
            assert each["references"] == [lines[place] for lines in REFERENCES]
    assert len(compared["examples"]["b_better"]) == 4


def test_the_text_names_everything_and_marks_repeated_words(compared) -> None:
    text = comparison_text(compared, ["CE", "AXE"])
    for one in compared["conventions"].values():
        assert one["label"] in text and one["signature"] in text and f"{one['difference']:+.2f}" in text
    assert "up to 5" in text and "6 to 9" in text and "10 and more" in text
    assert "so [so]" in text
    bold = comparison_text(compared, ["CE", "AXE"], bold=True)
    assert "so \x1b[1mso\x1b[0m" in bold and "[so]" not in bold


def test_an_empty_bucket_has_no_score_in_the_text() -> None:
    text = comparison_text(compare_outputs(["a b"], ["a c"], [["a b"]], bounds=[1, 9]), ["x", "y"])
    (row,) = (line for line in text.splitlines() if "9 and more" in line)
    assert row.split() == ["9", "and", "more", "0", "-", "-", "-"]


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), max_size=20), st.integers(0, 20))
def test_of_sentences_that_gain_equally_much_the_first_come_first(gains: list[float], number: int) -> None:
    places = sorted((place for place, gain in enumerate(gains) if gain > 0), key=lambda place: (-gains[place], place))
    assert furthest(np.array(gains), number) == places[:number]


def test_lines_that_say_the_same_are_shown_from_the_top_in_both_directions() -> None:
    good, bad, references = ["a b c"] * 5, ["a x y", "x y z"] * 2 + ["a b c"], [["a b c"] * 5]
    for pair, better in (((bad, good), "b_better"), ((good, bad), "a_better")):
        shown = compare_outputs(*pair, references, num_examples=3)["examples"]
        assert [each["line"] for each in shown[better]] == [2, 4, 1]
