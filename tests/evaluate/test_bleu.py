import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from axenat.evaluate.bleu import bleu, paired_bootstrap
from axenat.files import UserError, write_lines
from axenat.languages import bleu_tokeniser

TEXT = "der alte Mann kauft heute ein rotes Auto , und die Frau liest morgens daheim ein Buch ."
WORDS = TEXT.split()


def sentences(seed: int, count: int = 60) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(4, 14))) for _ in range(count)]


def damaged(lines: list[str], rate: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choice(WORDS) if rng.random() < rate else word for word in line.split()) for line in lines]


REFERENCES = [sentences(0), damaged(sentences(0), 0.3, 1)]
GOOD, POOR = damaged(REFERENCES[0], 0.2, 2), damaged(REFERENCES[0], 0.6, 3)


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


def test_the_paired_test_agrees_with_sacrebleu() -> None:
    close = damaged(REFERENCES[0], 0.23, 5)
    for other in (POOR, close):
        systems = [("b", other), ("a", GOOD)]
        results = PairedTest(systems, {"BLEU": BLEU(references=REFERENCES)}, None, "bs", 1000)()[1]["BLEU"]
        ours = paired_bootstrap(GOOD, other, REFERENCES)
        assert ours["p_value"] == pytest.approx(results[1].p_value)
        assert ours["difference"] == pytest.approx(results[1].score - results[0].score)


def test_a_system_does_not_differ_from_itself() -> None:
    result = paired_bootstrap(GOOD, GOOD, REFERENCES)
    assert (result["difference"], result["p_value"]) == (0.0, 1.0)


def test_swapping_the_systems_turns_the_sign_and_keeps_the_p_value() -> None:
    forth, back = paired_bootstrap(GOOD, POOR, REFERENCES), paired_bootstrap(POOR, GOOD, REFERENCES)
    assert forth["difference"] == -back["difference"] > 0
    assert forth["p_value"] == back["p_value"] < 0.05


@pytest.mark.parametrize(
    ("hypotheses", "references", "says"),
    [
        (["ein Au@@ to"], [["ein Auto"]], "subword"),
        (["ein Au@@"], [["ein Auto"]], "subword"),
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
    with pytest.raises(UserError, match=says):
        paired_bootstrap(hypotheses, hypotheses, references)


def test_an_unknown_tokeniser_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(UserError, match="13a"):
        bleu(["eins"], [["eins"]], tokenize="13b")


def test_chinese_is_scored_by_characters_and_told_so() -> None:
    assert [bleu_tokeniser(language) for language in ("zh", "de", "ro")] == ["zh", "13a", "13a"]
    one = bleu(["他买了书。"], [["他买了三本书。"]], tokenize=bleu_tokeniser("zh"))
    assert "tok:zh" in one["signature"]
    assert one["bleu"] > bleu(["他买了书。"], [["他买了三本书。"]])["bleu"]
