"""`axenat compare` on files, as a person calls it."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from axenat.cli import main
from axenat.files import read_json, read_lines, write_lines
from tests.reference.repetition import repetition_rate
from tests.support.evaluation_texts import Scored, axenat, sacrebleu, tokenised
from tests.texts import GOOD, POOR, REFERENCES

TOKENISERS = {"13a": Tokenizer13a(), "zh": TokenizerZh()}
EDGES = (1, 9, 18, 20, 23, 24, None)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"poor": POOR, "good": GOOD, "ref0": REFERENCES[0], "ref1": REFERENCES[1]}.items():
        write_lines(tmp_path / name, lines)
    write_lines(tmp_path / "subwords", ["ein Au@@ to", *GOOD[1:]])
    write_lines(tmp_path / "pieces", ["▁ein ▁Au to", *GOOD[1:]])
    write_lines(tmp_path / "short", GOOD[:-1])
    write_lines(tmp_path / "empty", [])
    return tmp_path


def test_text_for_people_and_json_for_programs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "poor", "good", "--references", "ref0", "ref1", "--source", "ref0", "--language", "de"]
    assert main([*words, "--names", "CE", "AXE", "--bounds", "1", "8", "--examples", "1", "--json", "out.json"]) == 0
    printed = capsys.readouterr().out
    written = read_json(files / "out.json")
    assert written["names"] == ["CE", "AXE"] and (written["a"], written["b"]) == ("poor", "good")
    assert [bucket["low"] for bucket in written["buckets"]] == [1, 8]
    assert len(written["examples"]["b_better"]) == 1
    main_score = written["conventions"]["sacrebleu"]
    assert f"{main_score['b']['value']:.2f}" in printed and "AXE - CE" in printed and "source" in printed


def test_the_same_file_twice_is_fine(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "good", "good", "--references", "ref0"]) == 0
    assert "+0.00               1.0000                    1.0000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["poor", "short", "--references", "ref0"], "short has 59 lines but poor has 60; they must pair up"),
        (["poor", "good", "--references", "ref0", "short"], "short has 59 lines but poor has 60; they must pair up"),
        (["poor", "good", "--references", "ref0", "--source", "short"], "short has 59 lines but poor has 60"),
        (["empty", "empty", "--references", "empty"], "empty: is empty; a comparison needs at least one line"),
        (["poor", "subwords", "--references", "ref0"], "subwords, line 1: holds subword marks (`@@ `)"),
        (["poor", "good", "--references", "pieces"], "pieces, line 1: holds subword marks (`▁`)"),
        (["poor", "gone", "--references", "ref0"], "gone: no such file"),
        (["poor", "good", "--references", "ref0", "--language", "xx"], "no tokeniser for the language 'xx'"),
        (["poor", "good", "--references", "ref0", "--bounds", "9", "2"], "length bounds must rise"),
        (["poor", "good", "--references", "ref0", "--examples", "-1"], "--examples -1: must be at least 0"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    files: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(["compare", *words, "--json", "out.json"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("axenat compare: ") and says in told.err and told.err.count("\n") == 1
    assert told.out == "" and not (files / "out.json").exists()


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Scored, Scored, dict[str, Any]]]:
    """Two outputs of each language, compared in the order of cross entropy and AXE, which is better but in Romanian."""
    made = {}
    for language in ("de", "ro", "zh"):
        folder = tmp_path_factory.mktemp(language)
        a = Scored(folder=folder, language=language, name="ce", seed=3 if language == "ro" else 9).write()
        b = Scored(folder=folder, language=language, name="axe", seed=9 if language == "ro" else 3, refs=folder).write()
        words = ("--references", *a.references, "--language", language, "--json", folder / "out.json")
        bounds = ("--bounds", *EDGES[:-1])
        axenat("compare", a.path("txt"), b.path("txt"), *words, *bounds, "--source", folder / "ref1")
        made[language] = a, b, read_json(folder / "out.json")
    return made


@pytest.mark.parametrize("language", ["de", "ro", "zh"])
def test_scores_and_tests_are_those_of_the_sacrebleu_command(outputs, language: str) -> None:
    a, b, written = outputs[language]
    options = ("--tokenize", "zh", "--ter-asian-support", "--ter-normalized") if language == "zh" else ()
    known = [*a.references, "-i"]
    for name, metric in (("sacrebleu", "bleu"), ("chrf", "chrf"), ("ter", "ter")):
        found = written["conventions"][name]
        scores = [sacrebleu(*known, one.path("txt"), "-m", metric, *options)["score"] for one in (a, b)]
        assert [found[side]["value"] for side in ("a", "b")] == pytest.approx(scores, abs=1e-9), name
        assert found["difference"] == pytest.approx(scores[1] - scores[0], abs=1e-9), name
    # Only tests of BLEU: the command cannot write those of other metrics as JSON.
    for key, flag in (("p_value", "--paired-bs"), ("p_value_randomisation", "--paired-ar")):
        _, tested = sacrebleu(*known, a.path("txt"), b.path("txt"), "-m", "bleu", *options[:2], flag)
        assert written["conventions"]["sacrebleu"][key] == pytest.approx(tested["BLEU"]["p_value"], abs=1e-9)
    better = written["conventions"]["sacrebleu"]["difference"] > 0
    assert better == (language != "ro")


@pytest.mark.parametrize("language", ["de", "zh"])
def test_each_length_has_the_bleu_of_its_own_sentences_in_both_files(tmp_path: Path, outputs, language: str) -> None:
    """Lengths are those of the first reference, in the words of BLEU."""
    a, b, written = outputs[language]
    tokenize = "zh" if language == "zh" else "13a"
    texts = [read_lines(path) for path in (a.path("txt"), b.path("txt"), *a.references)]
    lengths = [len(TOKENISERS[tokenize](line).split()) for line in texts[2]]
    assert [(bucket["low"], bucket["high"]) for bucket in written["buckets"]] == list(pairwise(EDGES))
    filled = 0
    for bucket in written["buckets"]:
        inside = [n for n, size in enumerate(lengths) if bucket["low"] <= size < (bucket["high"] or 10**9)]
        assert bucket["num_sentences"] == len(inside)
        if inside:
            filled += 1
            paths = [tmp_path / str(number) for number in range(4)]
            for path, lines in zip(paths, texts, strict=True):
                write_lines(path, [lines[n] for n in inside])
            for path, side in zip(paths, "ab", strict=False):
                command = (*paths[2:], "-i", path, "-m", "bleu", "--tokenize", tokenize, "--force")
                assert bucket[side] == pytest.approx(sacrebleu(*command)["score"], abs=1e-9)
    assert filled > 1


@pytest.mark.parametrize("language", ["de", "zh"])
def test_repetitions_lengths_and_tokenised_bleu_are_of_the_words_of_each_file(
    tmp_path: Path, outputs, language: str
) -> None:
    """Nothing is known of the corpus, so that words are those of the tokeniser without its rules."""
    *texts, written = outputs[language]
    assert written["language"] == language
    known = [tmp_path / f"ref{number}" for number in range(2)]
    for path, reference in zip(known, texts[0].references, strict=True):
        write_lines(path, tokenised(read_lines(reference), language, rules={}))
    for side, one in zip("ab", texts, strict=True):
        words = tokenised(read_lines(one.path("txt")), language, rules={})
        assert written["repetition"][side] == repetition_rate(words)
        write_lines(tmp_path / side, words)
        options = ("--tokenize", "none", "--smooth-method", "none", "--force", "-m", "bleu")
        bleu = sacrebleu(*known, "-i", tmp_path / side, *options)
        assert written["conventions"]["tokenised"][side]["value"] == pytest.approx(bleu["score"], abs=1e-9)
        plain = ("-i", one.path("txt"), "-m", "bleu", "--tokenize", "zh" if language == "zh" else "13a")
        lengths = re.search(r"hyp_len = (\d+) ref_len = (\d+)", sacrebleu(*one.references, *plain)["verbose_score"])
        assert lengths and written["length_ratio"][side] == int(lengths[1]) / int(lengths[2])
    assert written["repetition"]["a"] != written["repetition"]["b"] or language == "zh"


def test_examples_are_the_lines_that_gain_most_by_chrf_each_way(outputs) -> None:
    a, b, written = outputs["de"]
    texts = [read_lines(path) for path in (a.path("txt"), b.path("txt"), *a.references)]
    gains = []
    for one, other, *known in zip(*texts, strict=True):
        scores = [CHRF().sentence_score(line, known).score for line in (one, other)]
        gains.append(scores[1] - scores[0])
    for name, sign in (("b_better", 1), ("a_better", -1)):
        ordered = sorted(range(len(gains)), key=lambda line: -sign * gains[line])[:3]
        assert [example["line"] for example in written["examples"][name]] == [line + 1 for line in ordered]
        for line, example in zip(ordered, written["examples"][name], strict=True):
            assert (example["a"], example["b"], example["references"]) == (
                texts[0][line],
                texts[1][line],
                [texts[2][line], texts[3][line]],
            )
            assert example["source"] == texts[3][line] and example["b_chrf"] - example["a_chrf"] == pytest.approx(
                gains[line], abs=1e-9
            )
