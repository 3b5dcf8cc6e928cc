"""Batches hold every sentence once, stay in budget and waste little."""

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from axenat.data import batches as planning
from axenat.data.batches import collate, pad, plan_batches
from axenat.data.corpus import ParallelCorpus
from axenat.data.corpus_writer import write_corpus
from axenat.data.vocab import EOS, PAD
from tests.reference.batches import padded, whole_plan
from tests.support.counted import Tally, counted_array, lines_executed

lengths = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=80)
pools = st.sampled_from([planning.POOL, 7, 20])  # the corpora of these tests are one pool, or many


@pytest.fixture
def small_pools(monkeypatch) -> int:
    monkeypatch.setattr(planning, "POOL", 600)
    return planning.POOL


def caption_lengths(num_sentences: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths like those of Multi30k (logarithms 2.7 +- 0.3, of the sides' ratio 0 +- 0.16), a little more spread."""
    rng = np.random.default_rng(3)
    source = np.clip(rng.lognormal(2.7, 0.33, num_sentences), 4, 60)
    target = np.clip(source * rng.lognormal(0.05, 0.18, num_sentences), 4, 60)
    return source.round().astype(np.int32), target.round().astype(np.int32)


def columns(pairs) -> tuple[np.ndarray, np.ndarray]:
    source, target = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return source, target


@given(lengths, st.integers(1, 200), st.booleans(), pools)
def test_every_sentence_is_in_exactly_one_batch(pairs, tokens, shuffle, pool) -> None:
    with mock.patch.object(planning, "POOL", pool):
        plan = plan_batches(*columns(pairs), tokens, seed=1, epoch=0, shuffle=shuffle)
        assert sorted(i for batch in plan for i in batch) == list(range(len(pairs)))


@given(lengths, st.integers(1, 200), pools)
def test_a_batch_stays_in_budget_unless_it_is_one_long_sentence(pairs, tokens, pool) -> None:
    source, target = columns(pairs)
    with mock.patch.object(planning, "POOL", pool):
        for batch in plan_batches(source, target, tokens, seed=1, epoch=0):
            cost = len(batch) * max(source[batch].max(), target[batch].max())
            assert cost <= tokens or len(batch) == 1


@given(lengths, st.integers(1, 200), st.integers(0, 9), st.booleans())
def test_a_corpus_of_one_pool_is_planned_as_a_whole(pairs, tokens, seed, shuffle) -> None:
    how = {"seed": seed, "epoch": 3, "shuffle": shuffle}
    plan = [batch.tolist() for batch in plan_batches(*columns(pairs), tokens, **how)]
    assert plan == whole_plan(*columns(pairs), tokens, **how)


def test_exactly_one_full_pool_is_still_planned_as_a_whole(monkeypatch) -> None:
    source, target = caption_lengths(300)
    monkeypatch.setattr(planning, "POOL", 300)
    plan = [batch.tolist() for batch in plan_batches(source, target, 200, seed=4, epoch=5)]
    assert plan == whole_plan(source, target, 200, seed=4, epoch=5)


def test_a_larger_corpus_is_planned_as_its_pools_come(small_pools) -> None:
    """Each sentence belongs to one pool; a pool holds sentences from all over the corpus, a new choice each epoch."""
    source, target = caption_lengths(3_000)
    first = [pool_of_first(source, target, epoch) for epoch in (0, 1)]
    for chosen in first:
        assert len(chosen) == small_pools
        assert np.ptp(chosen) > 2_900 and abs(chosen.mean() - 1_500) < 150
    assert len(np.intersect1d(*first)) < small_pools / 2


def pool_of_first(source, target, epoch: int) -> np.ndarray:
    seen: list[np.ndarray] = []
    for batch in plan_batches(source, target, 500, seed=1, epoch=epoch):
        seen.append(batch)
        if sum(map(len, seen)) >= planning.POOL:
            return np.concatenate(seen)
    raise AssertionError("fewer sentences than a pool")


def test_without_shuffling_pools_follow_the_corpus(small_pools) -> None:
    source, target = caption_lengths(1_500)
    plan = list(plan_batches(source, target, 500, seed=1, epoch=0, shuffle=False))
    pool_of = [set(batch * 3 // 1_500) for batch in plan]
    assert pool_of == sorted(pool_of, key=min) and all(len(pools) == 1 for pools in pool_of)


def test_a_plan_asks_for_lengths_of_one_pool_at_a_time(small_pools) -> None:
    asked: list[int] = []

    class Watched:
        def __len__(self) -> int:
            return 3_000

        def __getitem__(self, which: np.ndarray) -> np.ndarray:
            asked.append(len(which))
            return np.full(len(which), 10)

    plan = plan_batches(Watched(), Watched(), 500, seed=1, epoch=0)
    assert asked == []
    next(plan)
    assert asked == [small_pools] * 2
    list(plan)
    assert asked == [small_pools] * 10


@pytest.mark.parametrize("pool", [planning.POOL, 600])
def test_seed_and_epoch_alone_decide_the_order(monkeypatch, pool) -> None:
    monkeypatch.setattr(planning, "POOL", pool)
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
    one, two = (list(plan_batches(source, target, 1_000, seed=1, epoch=epoch)) for epoch in (1, 2))
    assert {frozenset(batch.tolist()) for batch in one} != {frozenset(batch.tolist()) for batch in two}
    widths = [target[batch].max() for batch in one]
    assert widths != sorted(widths)


def test_without_shuffling_short_batches_come_first_and_epochs_are_equal() -> None:
    source, target = caption_lengths(1_000)
    one, two = (list(plan_batches(source, target, 500, seed=epoch, epoch=epoch, shuffle=False)) for epoch in (1, 2))
    assert [batch.tolist() for batch in one] == [batch.tolist() for batch in two]
    widths = [max(source[batch].max(), target[batch].max()) for batch in one]
    assert widths == sorted(widths)


@pytest.mark.parametrize("tokens", [2_048, 4_096])
def test_at_least_92_percent_of_a_batch_are_real_tokens(tokens) -> None:
    source, target = caption_lengths(20_000)
    plan = plan_batches(source, target, tokens, seed=1, epoch=0)
    positions = sum(len(batch) * (source[batch].max() + target[batch].max()) for batch in plan)
    assert (source.sum() + target.sum()) / positions >= 0.92


def test_planning_reads_each_length_a_few_times_however_many_there_are() -> None:
    """A corpus of millions is planned in every epoch."""
    read = {}
    for size in (2_000, 20_000):
        tally = Tally()
        sides = (counted_array(side, tally) for side in caption_lengths(size))
        assert sum(map(len, plan_batches(*sides, 2_048, seed=1, epoch=0))) == size
        read[size] = tally.read
    assert 2 * 20_000 <= read[20_000] <= 8 * 20_000
    assert read[20_000] <= 11 * read[2_000]


def test_planning_works_on_whole_batches_and_never_on_single_sentences() -> None:
    """With twice the sentences in each, as many batches take as many steps."""
    steps = {}
    for times in (1, 4):
        source, target = (np.repeat(side, times) for side in caption_lengths(2_000))
        with lines_executed(planning) as done:
            num_batches = len(list(plan_batches(source, target, times * 1_000, seed=1, epoch=0)))
        steps[times] = done.lines / num_batches
    assert steps[4] <= 1.1 * steps[1]


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


sentences = st.lists(st.integers(6, 70_000), max_size=6)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6), st.data())
def test_gathering_all_at_once_equals_one_by_one(tmp_path_factory, pairs, data) -> None:
    path = tmp_path_factory.mktemp("corpus") / "ids"
    sides = ([source for source, _ in pairs], [target for _, target in pairs])
    write_corpus(path, *sides, metadata={}, sizes=(70_001, 70_001))
    corpus = ParallelCorpus(path)
    chosen = data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=6))
    batch = collate(corpus, chosen)
    for ids, sizes, one in [
        (batch.source, batch.source_lengths, corpus.source),
        (batch.target, batch.target_lengths, corpus.target),
    ]:
        assert ids.dtype == sizes.dtype == torch.int64
        assert ids.tolist() == padded([one(i).tolist() for i in chosen])
        assert sizes.tolist() == [len(one(i)) for i in chosen]


def test_a_batch_moves_as_a_whole(corpus) -> None:
    tensors = collate(corpus, [0, 1]).to("meta").tensors()
    assert tensors.keys() == {"source", "source_lengths", "target", "target_lengths", "index"}
    assert {tensor.device.type for tensor in tensors.values()} == {"meta"}


@given(st.lists(st.lists(st.integers(6, 99), max_size=5), max_size=5))
def test_padding_can_be_taken_off_again(sentences) -> None:
    rows, sizes = pad(sentences)
    assert rows.dtype == sizes.dtype == torch.int64
    assert [row[:size].tolist() for row, size in zip(rows, sizes, strict=True)] == sentences
    assert all((row[size:] == PAD).all() for row, size in zip(rows, sizes, strict=True))
