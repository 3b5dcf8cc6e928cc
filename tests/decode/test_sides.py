"""Source and target have files and vocabularies of their own, and none is taken for the other's."""

from collections import Counter

import pytest
import torch

from axenat.data.learning import LearntSide, save_all
from axenat.data.side import Side
from axenat.data.subwords import count_words, learn
from axenat.data.text_section import TextSection
from axenat.data.vocab import BLANK, EOS, SPECIALS, Vocab
from axenat.decode.hypothesis import Hypothesis
from axenat.decode.inspect import describe_alignment
from axenat.decode.translator import Translator
from axenat.decode.word_alignment import word_alignments
from axenat.files import read_yaml, write_yaml
from axenat.model.transformer import Transformer
from axenat.systems.registry import SYSTEMS
from axenat.train.checkpoint import save_tensors, weights_of
from tests import tiny
from tests.reference.word_alignment import aligned_slowly
from tests.support import decoding
from tests.support.decoding import ENGINES, POSITIONS, slowly, translated

CPU = torch.device("cpu")
SOURCE = "the the a old old man man woman buys buys sees red red car car today . ."
TARGET = "der der die die das alte alte Mann Mann Frau kauft kauft sieht rotes Auto Auto heute ."
# Each side's words are unknown to the other.
LINES = ["the old man buys a red car .", "a car", "", "today the red car", "Frau the kauft"]


def learnt(line: str, letters: str) -> LearntSide:
    return LearntSide(learn(count_words([line]), 200), Counter(), Vocab.build([line, letters]))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Models with an embedding for each side."""
    folder, made = tmp_path_factory.mktemp("runs"), {}
    letters = " ".join(f"{letter}@@ {letter}" for letter in "abcdehlmnorstuwy")
    sides = learnt(SOURCE, letters), learnt(TARGET, "")
    for name in tuple(SYSTEMS):
        run = made[name] = tiny.run_folder(folder / name, name)
        save_all(run, TextSection(source_language="en", target_language="de"), sides, None)
        shape = {"max_positions": POSITIONS, "init_std": 0.5}
        config = read_yaml(run / "config.yaml")
        write_yaml(run / "config.yaml", {**config, "joint": False, "model": {**config["model"], **shape}})
        sizes = [len(Vocab.load(run / f"vocab.{side}")) for side in ("source", "target")]
        assert sizes[0] > sizes[1]
        torch.manual_seed(3)
        network = Transformer(tiny.model_config(**shape), *sizes, joint=False, predicts_length=name != "left_to_right")
        save_tensors(run / "model.safetensors", weights_of(network.eval()), {})
    return made


@pytest.mark.parametrize(("objective", "engine"), ENGINES)
def test_the_source_is_read_by_its_own_files_and_the_target_written_by_its_own(runs, objective, engine) -> None:
    name = "beam3" if objective == "left_to_right" else "ell4"
    how = {"beam": 3, "penalty": 1.0} if objective == "left_to_right" else {"ell": 4}
    found = translated(runs[objective], "--engine", engine, "--decode", name, lines=LINES)
    expected = slowly(runs[objective], objective, lines=LINES, **how)
    assert [[text for text, _ in best] for best in found] == [[text for text, _ in best] for best in expected]
    scores = [score for best in expected for _, score in best]
    assert [score for best in found for _, score in best] == pytest.approx(scores, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("objective", tuple(SYSTEMS))
def test_words_of_both_sides_are_aligned(runs, objective) -> None:
    run = Translator(runs[objective], CPU, engine="torch")
    translations = run.translate_words(LINES)
    with torch.inference_mode():
        for line, one, pairs in zip(LINES, translations, word_alignments(run, LINES, translations), strict=True):
            assert pairs == (aligned_slowly(run, line, list(one.ids)) if line else [])


def test_a_target_is_made_of_the_targets_own_subwords(runs) -> None:
    target = "der alte Mann kauft die Auto"
    described = describe_alignment(Translator(runs["axe"], CPU), LINES[0], target)
    assert described["targets"] == [*Side.load(runs["axe"], "target").subwords(target).split(), SPECIALS[EOS]]
    assert SPECIALS[3] not in described["targets"]


def test_plain_text_of_the_target_is_written_in_its_language(runs) -> None:
    """The tuple's three forms are the same words."""
    run = Translator(runs["axe"], CPU)
    side = Side.load(runs["axe"], "target")
    assert (run.source.language, run.target.language) == ("en", "de")
    for one in run.translate(LINES):
        assert one.words == side.words(one.subwords)
        assert one.text == side.plain(one.words)


@pytest.mark.parametrize(
    ("objective", "kept"),
    [("left_to_right", [8, 8, 9]), ("masked", [8, 8, 9, 10, 9]), ("axe", [8, 8, 9, 10, 9])],
)
def test_a_hypothesis_is_read_out_as_its_model_was_trained(runs, objective, kept) -> None:
    """A left-to-right translation ends at its <eos>, which is a token like any other to masked models."""
    run = Translator(runs[objective], CPU)
    ids = [8, 8, 9, EOS, 10, 9, EOS]
    assert run.text(Hypothesis(ids, -1.0)).subwords == " ".join(run.target.vocab.tokens[token] for token in kept)


def test_blanks_are_dropped_for_axe_and_repeated_words_stay(runs) -> None:
    run = Translator(runs["axe"], CPU)
    found = run.text(Hypothesis([BLANK, 8, BLANK, 8, 8, EOS, BLANK], -1.0))
    assert found.subwords == " ".join([run.target.vocab.tokens[8]] * 3)


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_hypotheses_that_differ_in_blanks_alone_are_one_translation_with_the_better_score(tmp_path, engine) -> None:
    run = decoding.run_folder(tmp_path / "axe", "axe", length_multipliers=[1.0])
    whole = slowly(run, "axe", ell=8)
    assert 2 < len(whole[0]) < 8
    for number in (1, 2, 7):
        found = translated(run, "--engine", engine, "--decode", "ell8", number=number)
        for some, best in zip(found, whole, strict=True):
            assert [text for text, _ in some] == [text for text, _ in best[:number]]
            scores = [score for _, score in best[:number]]
            assert [score for _, score in some] == pytest.approx(scores, rel=1e-4, abs=1e-4)
