"""Batches hold every sentence once, stay in budget and waste little."""

import dataclasses
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from axenat.data.batches import collate, pad, plan_batches
from axenat.data.corpus import ParallelCorpus, write_corpus
from axenat.data.vocab import EOS, PAD

lengths = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=80)


def caption_lengths(num_sentences: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths like those of Multi30k: about 16 subwords a side, the two sides alike."""
    rng = np.random.default_rng(3)
    source = np.clip(rng.lognormal(2.7, 0.33, num_sentences), 4, 60)
    target = np.clip(source * rng.lognormal(0.05, 0.18, num_sentences), 4, 60)
    return source.round().astype(np.int32), target.round().astype(np.int32)


def columns(pairs) -> tuple[np.ndarray, np.ndarray]:
    source, target = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return source, target


@given(lengths, st.integers(1, 200), st.booleans())
def test_every_sentence_is_in_exactly_one_batch(pairs, tokens, shuffle) -> None:
    batches = plan_batches(*columns(pairs), tokens, seed=1, epoch=0, shuffle=shuffle)
    assert sorted(i for batch in batches for i in batch) == list(range(len(pairs)))


@given(lengths, st.integers(1, 200))
def test_a_batch_stays_in_budget_unless_it_is_one_long_sentence(pairs, tokens) -> None:
    source, target = columns(pairs)
    for batch in plan_batches(source, target, tokens, seed=1, epoch=0):
        cost = len(batch) * max(source[batch].max(), target[batch].max())
        assert cost <= tokens or len(batch) == 1


def test_seed_and_epoch_alone_decide_the_order() -> None:
    source, target = caption_lengths(2_000)

    def plan(seed: int, epoch: int) -> list[list[int]]:
        return [batch.tolist() for batch in plan_batches(source, target, 500, seed=seed, epoch=epoch)]

    np.random.seed(0)
    first = plan(1, 2)
    np.random.seed(1)
    assert plan(1, 2) == first
    assert plan(1, 3) != first
    assert plan(2, 2) != first


def test_an_epoch_mixes_sentences_and_batches() -> None:
    source, target = caption_lengths(5_000)
    one, two = (plan_batches(source, target, 1_000, seed=1, epoch=epoch) for epoch in (1, 2))
    assert {frozenset(batch.tolist()) for batch in one} != {frozenset(batch.tolist()) for batch in two}
    widths = [target[batch].max() for batch in one]
    assert widths != sorted(widths)


def test_without_shuffling_short_batches_come_first_and_epochs_are_equal() -> None:
    source, target = caption_lengths(1_000)
    one, two = (plan_batches(source, target, 500, seed=epoch, epoch=epoch, shuffle=False) for epoch in (1, 2))
    assert [batch.tolist() for batch in one] == [batch.tolist() for batch in two]
    widths = [max(source[batch].max(), target[batch].max()) for batch in one]
    assert widths == sorted(widths)


@pytest.mark.parametrize("tokens", [2_048, 4_096])
def test_at_least_92_percent_of_a_batch_are_real_tokens(tokens) -> None:
    source, target = caption_lengths(20_000)
    batches = plan_batches(source, target, tokens, seed=1, epoch=0)
    padded = sum(len(batch) * (source[batch].max() + target[batch].max()) for batch in batches)
    assert (source.sum() + target.sum()) / padded >= 0.92


def test_planning_is_quick() -> None:
    source, target = caption_lengths(20_000)
    seconds = []
    for epoch in range(3):
        started = time.perf_counter()
        plan_batches(source, target, 2_048, seed=1, epoch=epoch)
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 0.1


@pytest.fixture
def corpus(tmp_path) -> ParallelCorpus:
    path = tmp_path / "train.safetensors"
    write_corpus(path, [[6, 7], [8], [9, 9, 9]], [[6], [7, 7, 7, 7], []], metadata={})
    return ParallelCorpus(path)


def test_a_batch_holds_its_sentences_and_only_padding_beside(corpus) -> None:
    batch = collate(corpus, np.array([2, 0]))
    assert len(batch) == 2
    assert batch.index.tolist() == [2, 0]
    assert batch.source.tolist() == [[9, 9, 9, EOS], [6, 7, EOS, PAD]]
    assert batch.target.tolist() == [[EOS, PAD], [6, EOS]]
    assert batch.source_lengths.tolist() == [4, 3]
    assert batch.target_lengths.tolist() == [1, 2]


def test_a_batch_moves_as_a_whole(corpus) -> None:
    moved = collate(corpus, [0, 1]).to("meta")
    assert {getattr(moved, item.name).device.type for item in dataclasses.fields(moved)} == {"meta"}


@given(st.lists(st.lists(st.integers(6, 99), max_size=5), max_size=5))
def test_padding_can_be_taken_off_again(sentences) -> None:
    padded, sizes = pad(sentences)
    assert padded.dtype == sizes.dtype == torch.int64
    assert [row[:size].tolist() for row, size in zip(padded, sizes, strict=True)] == sentences
    assert all((row[size:] == PAD).all() for row, size in zip(padded, sizes, strict=True))
