import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from axenat.evaluate.bleu import bleu
from axenat.files import UserError, write_lines
from axenat.languages import bleu_tokeniser
from tests.texts import GOOD, POOR, REFERENCES


def test_bleu_and_signature_equal_those_of_the_sacrebleu_command(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("hyp", "ref0", "ref1")]
    for path, lines in zip(paths, [GOOD, *REFERENCES], strict=True):
        write_lines(path, lines)
    command = [sys.executable, "-m", "sacrebleu", *paths[1:], "-i", paths[0], "-w", "6"]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    ours = bleu(GOOD, REFERENCES, num_bootstrap=0)
    assert printed["score"] == pytest.approx(ours["bleu"], abs=1e-6)
    assert printed["signature"] == ours["signature"]
    assert (ours["num_sentences"], ours["num_references"]) == (60, 2)


def test_a_perfect_hypothesis_scores_100_with_an_interval_of_no_width() -> None:
    score = bleu(REFERENCES[1], REFERENCES)
    assert score["bleu"] == score["bleu_low"] == score["bleu_high"] == 100.0
    assert score["length_ratio"] == 1.0


def test_the_interval_contains_the_score_and_is_the_same_each_time() -> None:
    score = bleu(POOR, REFERENCES)
    assert score["bleu_low"] < score["bleu"] < score["bleu_high"]
    assert score == bleu(POOR, REFERENCES)


def test_a_score_of_nothing_is_zero() -> None:
    score = bleu(["", ""], [["ein Satz .", "noch ein Satz ."]])
    assert (score["bleu"], score["length_ratio"]) == (0.0, 0.0)


def test_more_references_never_lower_the_score_of_an_output_as_long_as_the_first() -> None:
    assert bleu(GOOD, REFERENCES)["bleu"] >= bleu(GOOD, REFERENCES[:1])["bleu"]


@pytest.mark.parametrize(
    ("hypotheses", "references", "says"),
    [
        (["ein Au@@ to"], [["ein Auto"]], "subword"),
        (["ein Au@@"], [["ein Auto"]], "subword"),
        (["▁ein ▁Au to"], [["ein Auto"]], "hypotheses, line 1: holds subword marks"),
        (["so", "ein Auto"], [["so", "ein Auto"], ["so", "ein Au@@ to"]], "reference set 1, line 2: holds subword"),
        (["ein Auto"], [["▁ein Au to"]], "reference set 0, line 1: holds subword"),
        (["eins", "zwei"], [["eins"]], "2 hypotheses but 1"),
        (["eins"], [["eins"], ["eins", "zwei"]], "reference set 1"),
        (["eins"], [], "reference"),
        ([], [[]], "empty"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_one_sentence(
    hypotheses: list[str], references: list[list[str]], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        bleu(hypotheses, references)


def test_an_unknown_tokeniser_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(UserError, match="13a"):
        bleu(["eins"], [["eins"]], tokenize="13b")


def test_chinese_is_scored_by_characters_and_told_so() -> None:
    assert [bleu_tokeniser(language) for language in ("zh", "de", "ro")] == ["zh", "13a", "13a"]
    one = bleu(["他买了书。"], [["他买了三本书。"]], tokenize=bleu_tokeniser("zh"))
    assert "tok:zh" in one["signature"]
    assert one["bleu"] > bleu(["他买了书。"], [["他买了三本书。"]])["bleu"]


def test_what_only_looks_like_a_subword_mark_is_scored() -> None:
    lines = ["co @-@ op", "▁▂▃", "a@@b", "mail@home.net"]
    assert bleu(lines, [lines])["bleu"] == 100.0


def test_bleu_by_hand() -> None:
    """Precisions 6/6, 4/5, 2/4 and, smoothed, half of 1/3; the output is one word short of seven."""
    score = bleu(["a b c d x e"], [["a b c y d x e"]], tokenize="none", num_bootstrap=0)
    precisions = (6 / 6, 4 / 5, 2 / 4, 1 / 2 / 3)
    brevity = math.exp(1 - 7 / 6)
    assert score["bleu"] == pytest.approx(100 * brevity * math.prod(precisions) ** (1 / 4))
    assert score["length_ratio"] == pytest.approx(6 / 7)
