"""Word alignments: one source word for every word that comes out, whatever the subwords and the batch."""

import pytest
import torch

from axenat.data.vocab import BLANK, EOS
from axenat.decode.translator import EMPTY, Translator
from axenat.decode.word_alignment import word_alignments, word_numbers
from axenat.model.attention import CrossAttention
from axenat.systems.registry import SYSTEMS
from tests import tiny
from tests.reference.word_alignment import aligned_slowly

CPU = torch.device("cpu")
LINES = ["the old man buys a red car today .", "", "unseen wörds here", "a car", "the woman sees the old man"]


@pytest.fixture(params=tuple(SYSTEMS))
def translator(request, tmp_path) -> Translator:
    return Translator(tiny.run_folder(tmp_path / "toy", request.param), CPU, engine="torch")


def test_every_target_word_has_one_source_word_and_the_batch_is_invisible(translator) -> None:
    translations = translator.translate_words(LINES)
    together = word_alignments(translator, LINES, translations)
    for line, translation, pairs in zip(LINES, translations, together, strict=True):
        assert [target for _, target in pairs] == list(range(len(translation.words.split())))
        assert all(0 <= source < len(line.split()) for source, _ in pairs)
        assert word_alignments(translator, [line], [translation]) == [pairs]


@pytest.mark.parametrize("objective", tuple(SYSTEMS))
@pytest.mark.parametrize("layers", [1, 3, 4])
def test_a_word_is_aligned_to_the_word_that_its_subwords_look_at_most(tmp_path, objective, layers) -> None:
    folder = tiny.run_folder(tmp_path / "toy", objective, shape={"decoder_layers": layers, "init_std": 0.6}, seed=4)
    translator = Translator(folder, CPU, engine="torch")
    translations = translator.translate_words(LINES)
    found = word_alignments(translator, LINES, translations)
    with torch.inference_mode():
        for line, translation, pairs in zip(LINES, translations, found, strict=True):
            assert pairs == (aligned_slowly(translator, line, list(translation.ids)) if line else [])
    assert len({source for pairs in found for source, _ in pairs}) > 1


@pytest.mark.parametrize("seed", range(3))
def test_blanks_take_a_position_but_are_no_words(tmp_path, seed) -> None:
    folder = tiny.run_folder(tmp_path / "toy", "axe", shape={"init_std": 0.6}, seed=seed)
    translator = Translator(folder, CPU, engine="torch")
    ids = (BLANK, BLANK, 8, BLANK, EOS, 9, BLANK, 10, 7, EOS)
    (pairs,) = word_alignments(translator, LINES[:1], [EMPTY._replace(ids=ids)])
    with torch.inference_mode():
        assert pairs == aligned_slowly(translator, LINES[0], list(ids))


def test_what_is_empty_has_no_pairs(translator) -> None:
    assert word_alignments(translator, ["", "a car"], [EMPTY, EMPTY]) == [[], []]


def test_a_line_that_was_cut_is_aligned_as_far_as_it_was_read(translator) -> None:
    line = " ".join(["man"] * 60)
    (pairs,) = word_alignments(translator, [line], translator.translate_words([line]))
    assert all(source < translator.model.max_positions - 1 for source, _ in pairs)


def test_subwords_count_for_their_word() -> None:
    assert word_numbers(["a@@", "b", "c", "d@@", "e@@", "f"]) == [0, 0, 1, 2, 2, 2]
    assert word_numbers(["a@@"]) == [0]
    assert word_numbers([]) == []


def test_the_weights_are_those_that_the_attention_uses() -> None:
    torch.manual_seed(0)
    attention = CrossAttention(8, 2)
    states, memory = torch.randn(2, 3, 8), attention.memory(torch.randn(2, 5, 8))
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None, :]
    for some in (mask, None):
        weights = attention.weights(states, memory, some)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 3))
        attended = (weights @ memory[1]).transpose(1, 2).reshape(2, 3, 8)
        torch.testing.assert_close(attention.out(attended), attention(states, memory, some))
