"""Each convention beside the outside tool or the hand that computes it."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from axenat.corpus_config import TextConfig
from axenat.evaluate.conventions import Text, conventions, in_both_forms, split_compounds
from axenat.files import UserError, write_lines
from tests.support import warm
from tests.texts import GOOD, REFERENCES

GERMAN = [
    "Der CO2-Ausstoß sinkt, sagt Hans' Mutter-Kind-Gruppe.",
    "Das ist z. B. ein Test - oder?",
    "Er kauft heute ein E-Auto.",
]
OTHER = [
    "Der CO2-Ausstoß steigt, sagt Hans' Mutter-Kind-Gruppe.",
    "Das ist z. B. kein Test - oder?",
    "Er kauft morgen ein E-Auto.",
]
ROMANIAN = ["Şi ştiinţa e aici, în ţară.", "Mâine plecăm la Iaşi."]
WELL_WRITTEN = ["Și știința e aici, în țară.", "Mâine plecăm la Iași."]


def scored(hypotheses: list[str], *references: list[str], language: str = "en", **rules: bool) -> dict[str, Any]:
    text = TextConfig(**rules)
    forms = [in_both_forms(lines, language, text) for lines in (hypotheses, *references)]
    return {one.name: one.record() for one in conventions(forms[0], forms[1:], language, text)}


def sacrebleu(tmp_path: Path, hypotheses: list[str], references: list[list[str]], *options: str) -> dict[str, Any]:
    paths = [str(tmp_path / f"lines{number}") for number in range(len(references) + 1)]
    for path, lines in zip(paths, [hypotheses, *references], strict=True):
        write_lines(path, lines)
    command = [str(warm.commands() / "sacrebleu"), *paths[1:], "-i", paths[0], "-w", "6", *options]
    printed: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return printed


def test_the_conventions_of_each_language() -> None:
    shared = {"sacrebleu", "tokenised", "chrf", "ter"}
    assert scored(["a b"], ["a b"]).keys() == shared
    assert scored(["a b"], ["a b"], language="de").keys() == {*shared, "compound_split"}
    assert scored(["a b"], ["a b"], language="ro").keys() == {*shared, "no_diacritics"}
    assert scored(["他买书。"], ["他买书。"], language="zh").keys() == shared


@pytest.mark.parametrize("smoothing", ["none", "exp"])
def test_tokenised_bleu_is_that_of_sacrebleu_on_the_words(tmp_path: Path, smoothing: str) -> None:
    """Where every order of n-grams has a match, as in any real test set, smoothing changes nothing."""
    words = Text(plain=["x"] * len(GOOD), words=GOOD)
    references = [Text(plain=["x"] * len(GOOD), words=lines) for lines in REFERENCES]
    (ours,) = (one.record() for one in conventions(words, references, "en") if one.name == "tokenised")
    options = ("--tokenize", "none", "--force", "--smooth-method", smoothing)
    theirs = sacrebleu(tmp_path, GOOD, REFERENCES, *options)
    assert ours["value"] == pytest.approx(theirs["score"], abs=1e-6)
    assert ours["signature"] == theirs["signature"].replace("smooth:exp", "smooth:none")


def test_the_main_score_chrf_and_ter_are_those_of_the_sacrebleu_command(tmp_path: Path) -> None:
    ours = scored(GOOD, *REFERENCES, language="de")
    for name, metric in (("sacrebleu", "bleu"), ("chrf", "chrf"), ("ter", "ter")):
        theirs = sacrebleu(tmp_path, GOOD, REFERENCES, "-m", metric)
        assert ours[name]["value"] == pytest.approx(theirs["score"], abs=1e-6), name
        assert ours[name]["signature"] == theirs["signature"]
        assert ours[name]["low"] < ours[name]["value"] < ours[name]["high"]


def test_compounds_are_split_as_the_scripts_of_others_split_them() -> None:
    assert split_compounds("ein E-Auto - ja , a-b-c") == "ein E ##AT##-##AT## Auto - ja , a ##AT##-##AT## b-c"
    assert split_compounds("co @-@ op") == "co @-@ op"
    assert split_compounds("--- -a a- b--c") == "- ##AT##-##AT## - -a a- b ##AT##-##AT## -c"


def test_compound_split_bleu_is_bleu_of_the_split_words() -> None:
    ours = scored(GERMAN, OTHER, language="de")
    split = [[split_compounds(line) for line in in_both_forms(lines, "de").words] for lines in (GERMAN, OTHER)]
    by_hand = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(split[0], [split[1]]).score
    assert ours["compound_split"]["value"] == pytest.approx(by_hand)
    assert ours["compound_split"]["value"] > ours["tokenised"]["value"]


def test_references_are_tokenised_by_the_rules_of_the_corpus() -> None:
    """A perfect translation scores 100 only if escapes and hyphens are alike on both sides."""
    rules = {"escape": True, "aggressive_hyphens": True, "normalise_punctuation": True}
    words = Text(plain=GERMAN, words=in_both_forms(GERMAN, "de", TextConfig(**rules)).words)
    assert any("@-@" in line or "&apos;" in line for line in words.words)
    alike, unlike = (
        {
            one.name: one.record()
            for one in conventions(words, [in_both_forms(GERMAN, "de", text)], "de", TextConfig(**rules))
        }
        for text in (TextConfig(**rules), TextConfig())
    )
    assert alike["tokenised"]["value"] == alike["compound_split"]["value"] == 100.0
    assert unlike["tokenised"]["value"] < 90.0
    assert "escaped" in alike["tokenised"]["compared"] and "hyphens split" in alike["tokenised"]["compared"]


def test_without_diacritics_other_spellings_of_romanian_are_the_same() -> None:
    ours = scored(ROMANIAN, WELL_WRITTEN, language="ro")
    assert ours["no_diacritics"]["value"] == 100.0
    assert max(ours[name]["value"] for name in ("sacrebleu", "tokenised")) < 90.0


def test_a_corpus_that_removes_diacritics_is_told_where_it_matters() -> None:
    bare = ["Si stiinta e aici, in tara.", "Maine plecam la Iasi."]
    ours = scored(bare, WELL_WRITTEN, language="ro", remove_diacritics=True)
    assert ours["tokenised"]["value"] == ours["no_diacritics"]["value"] == 100.0
    assert ours["sacrebleu"]["value"] < 90.0
    assert "the corpus removes diacritics" in ours["sacrebleu"]["compared"]
    assert "the corpus itself removes them" in ours["no_diacritics"]["compared"]
    assert "diacritics" not in scored(bare, WELL_WRITTEN, language="ro")["sacrebleu"]["compared"]


def test_chinese_is_scored_by_characters() -> None:
    hypotheses, references = ["他今天买了三本书。"], ["他今天买了两本书。"]
    ours = scored(hypotheses, references, language="zh")
    assert "tok:zh" in ours["sacrebleu"]["signature"]
    assert "asian:yes" in ours["ter"]["signature"]
    assert ours["ter"]["value"] == pytest.approx(100 * 1 / 9)  # one of nine characters is another
    assert "jieba" in ours["tokenised"]["compared"]


def test_chrf_by_hand() -> None:
    """Of `abc` against `abd`: 2 of 3 letters and 1 of 2 pairs match, no triple does; precision and recall are equal."""
    value = scored(["abc"], ["abd"])["chrf"]["value"]
    assert value == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3)
    assert CHRF().corpus_score(["abc"], [["abd"]]).score == pytest.approx(value)


def test_ter_by_hand() -> None:
    """Moving `a b` to the front is one edit, `x` for `y` another; the reference has five words."""
    assert scored(["c d a b x"], ["a b c d y"])["ter"]["value"] == pytest.approx(100 * 2 / 5)
    assert TER().corpus_score(["c d a b x"], [["a b c d y"]]).score == pytest.approx(100 * 2 / 5)


def test_tokenised_bleu_by_hand() -> None:
    """Of `a b c d e` and `a b c d x`: 4/5, 3/4, 2/3 and 1/2; without a match of four words in a row it is nothing."""
    assert scored(["a b c d e"], ["a b c d x"])["tokenised"]["value"] == pytest.approx(
        100 * math.prod((4 / 5, 3 / 4, 2 / 3, 1 / 2)) ** (1 / 4)
    )
    unsmoothed = scored(["a b c d"], ["a b c x"])
    assert unsmoothed["tokenised"]["value"] == 0.0 < unsmoothed["sacrebleu"]["value"]


def test_subwords_are_refused_in_words_and_in_plain_text() -> None:
    good = Text(plain=["ein Auto"], words=["ein Auto"])
    for bad in (Text(plain=["ein Au@@ to"], words=["ein Auto"]), Text(plain=["ein Auto"], words=["ein Au@@ to"])):
        for pair in ((good, bad), (bad, good)):
            with pytest.raises(UserError, match=r"line 1: holds subword marks .*join the subwords"):
                list(conventions(pair[0], [pair[1]], "en"))
