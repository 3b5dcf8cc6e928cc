"""In the text of a comparison every number stands under its own heading."""

import re
from typing import Any

import pytest

from axenat.evaluate.compare import compare_outputs
from axenat.evaluate.compare_text import comparison_text
from tests.texts import GOOD, POOR, REFERENCES

NAMES = ["CE", "AXE"]


@pytest.fixture(scope="module")
def compared() -> dict[str, Any]:
    """With p-values that nobody takes for one another, and lines that repeat words on one side only."""
    repeats = [f"{line} so so" for line in POOR]
    found = compare_outputs(repeats, GOOD, REFERENCES, language="de", bounds=[1, 6, 10])
    for number, one in enumerate(found["conventions"].values(), start=1):
        one |= {"p_value": 0.1 + number / 100, "p_value_randomisation": 0.2 + number / 100}
    return found


def table(compared: dict[str, Any], first: str) -> list[list[str]]:
    """The cells of the lines from the one that begins with this word, as far as the table goes."""
    lines = comparison_text(compared, NAMES).splitlines()
    start = next(place for place, line in enumerate(lines) if line.split()[:1] == [first])
    end = next((place for place in range(start, len(lines)) if not lines[place].strip()), len(lines))
    return [re.split(r"  +", line.strip()) for line in lines[start:end]]


def test_each_score_interval_difference_and_p_value_stands_under_its_heading(compared) -> None:
    (headings, *rows) = table(compared, "CE")
    main = compared["conventions"]["sacrebleu"]
    assert headings == [
        "CE", "95 % interval", "AXE", "95 % interval", "AXE - CE",
        f"p (bootstrap, {main['num_samples']})", f"p (randomisation, {main['num_trials']})",
    ]  # fmt: skip
    for row, one in zip(rows, compared["conventions"].values(), strict=True):
        scores = [
            cell
            for side in ("a", "b")
            for cell in (f"{one[side]['value']:.2f}", f"[{one[side]['low']:.2f}, {one[side]['high']:.2f}]")
        ]
        tests = [f"{one['p_value']:.4f}", f"{one['p_value_randomisation']:.4f}"]
        assert row == [one["label"], *scores, f"{one['difference']:+.2f}", *tests]


def test_each_length_has_its_number_of_sentences_and_the_score_of_each_side(compared) -> None:
    (headings, *rows) = table(compared, "length")
    assert headings == ["length", "sentences", "CE", "AXE", "AXE - CE"]
    for row, one in zip(rows, compared["buckets"], strict=True):
        a, b = one["a"], one["b"]
        assert row[1:] == [str(one["num_sentences"]), f"{a:.2f}", f"{b:.2f}", f"{b - a:+.2f}"]
        assert a != b


def test_repetition_and_length_ratio_stand_under_the_side_that_they_are_of(compared) -> None:
    text = comparison_text(compared, NAMES)
    for words, key, style in (("repeated words", "repetition", ".2%"), ("length ratio", "length_ratio", ".3f")):
        (line,) = (line for line in text.splitlines() if line.strip().startswith(words))
        values = [format(compared[key][side], style) for side in ("a", "b")]
        assert line.split()[2:] == values and len(set(values)) == 2
