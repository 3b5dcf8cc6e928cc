"""Merges are those that subword-nmt learns from the same words, whatever it believes of them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.data import subwords
from axenat.data.demo import demo_corpus
from axenat.data.merges import NoRoomError, learn_merges
from axenat.data.subwords import HEADER, count_words, learn

slowly = subwords._learn_slowly
# Few letters make the same symbols in many ways, and overlap with themselves; some spell the end of a word.
words = st.sampled_from(["a", "ab", "abc", "a</w>", "aäß𝄞"]).flatmap(lambda letters: st.text(letters, min_size=1))
counted = st.dictionaries(words, st.integers(1, 50), min_size=1, max_size=40).filter(
    lambda found: max(map(len, found)) > 1
)


def codes_of(counts, merges) -> list[str]:
    return [HEADER, *(" ".join(pair) for pair in learn_merges(counts, merges))]


@given(counted, st.integers(1, 60))
def test_merges_are_those_of_subword_nmt(counts, merges) -> None:
    assert codes_of(counts, merges) == slowly(counts, merges)


@pytest.mark.parametrize("seed", range(6))
def test_long_dictionaries_of_few_letters_confuse_both_alike(seed) -> None:
    """Here counts are set aside and brought up to date many times, and are not true."""
    rng = random.Random(seed)
    texts = ("".join(rng.choices("abcd"[: 2 + seed % 3], k=rng.randint(1, 30))) for _ in range(500))
    counts = {text: rng.choice([1, 1, 2, 5, 100, rng.randint(1, 1000)]) for text in texts}
    assert codes_of(counts, 3_000) == slowly(counts, 3_000)


def test_the_merges_of_real_words_are_those_of_subword_nmt() -> None:
    corpus = demo_corpus(seed=5, train=400, valid=1, test=1, references=1)
    counts = count_words(corpus["train.en"]) + count_words(corpus["train.de"])
    assert codes_of(counts, 1_000) == slowly(counts, 1_000)


def test_the_order_of_words_does_not_matter() -> None:
    counts = count_words(demo_corpus(seed=5, train=100, valid=1, test=1, references=1)["train.de"])
    shuffled = dict(random.Random(1).sample(list(counts.items()), len(counts)))
    assert codes_of(shuffled, 500) == codes_of(counts, 500)


def test_many_words_are_learnt_quickly_and_few_or_odd_ones_by_subword_nmt(monkeypatch) -> None:
    counts = {f"{number:x}": number % 7 + 1 for number in range(500)}
    expected = slowly(counts, 50)
    monkeypatch.setattr(subwords, "_learn_slowly", lambda *arguments: ["slowly"])
    assert learn(counts, 50) == ["slowly"]
    monkeypatch.setattr(subwords, "MANY_WORDS", 500)
    assert learn(counts, 50) == expected
    assert learn({**counts, "a\u00a0b": 3}, 50) == ["slowly"]


def test_what_there_is_no_room_for_subword_nmt_learns_itself(monkeypatch) -> None:
    def no_room(*arguments):
        raise NoRoomError

    monkeypatch.setattr(subwords, "MANY_WORDS", 1)
    monkeypatch.setattr("axenat.data.merges.learn_merges", no_room)
    assert learn({"abc": 3, "abd": 2}, 5) == slowly({"abc": 3, "abd": 2}, 5)
