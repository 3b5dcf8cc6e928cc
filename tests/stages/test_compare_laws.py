"""`axenat compare`: scores, tests, lengths and examples are what another tool makes of the two files."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from axenat.files import read_json, read_lines, write_lines
from tests.reference.repetition import repetition_rate
from tests.support.evaluation_texts import Lazily, Scored, axenat, sacrebleu, tokenised

TOKENISERS = {"13a": Tokenizer13a(), "zh": TokenizerZh()}
EDGES = (1, 9, 18, 20, 23, 24, None)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Lazily:
    """By language two outputs, of cross entropy and of AXE, which is better but in Romanian, and their comparison."""

    def make(language: str) -> tuple[Scored, Scored, dict[str, Any]]:
        folder = tmp_path_factory.mktemp(language)
        a = Scored(folder=folder, language=language, name="ce", seed=3 if language == "ro" else 9).write()
        b = Scored(folder=folder, language=language, name="axe", seed=9 if language == "ro" else 3, refs=folder).write()
        words = ("--references", *a.references, "--language", language, "--json", folder / "out.json")
        more = ("--bounds", *EDGES[:-1], "--source", folder / "ref1")
        axenat("compare", a.path("txt"), b.path("txt"), *words, *more)
        return a, b, read_json(folder / "out.json")

    return Lazily(make)


@pytest.mark.parametrize("language", ["zh", "de", "ro"])
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


@pytest.mark.parametrize("language", ["zh", "de"])
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
