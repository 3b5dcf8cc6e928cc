"""However batches are loaded, they are those of the plan, and nothing is left behind."""

import itertools
import multiprocessing
import pickle
import time

import numpy as np
import pytest
import torch
from torch import Tensor

from axenat.data.batches import Batch, collate, plan_batches
from axenat.data.corpus import ParallelCorpus
from axenat.data.corpus_writer import write_corpus
from axenat.data.loader import load_batches


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> ParallelCorpus:
    rng = np.random.default_rng(1)
    sides = [[rng.integers(6, 99, size).tolist() for size in rng.integers(0, 12, 200)] for _ in range(2)]
    path = tmp_path_factory.mktemp("corpus") / "train.safetensors"
    write_corpus(path, *sides, metadata={})
    return ParallelCorpus(path)


def plan(corpus: ParallelCorpus) -> list[np.ndarray]:
    return list(plan_batches(corpus.source_lengths, corpus.target_lengths, 60, seed=1, epoch=1))


def content(batch: Batch) -> list[list]:
    return [tensor.tolist() for tensor in batch.tensors().values()]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_batches_of_the_plan_come_in_order(corpus, workers) -> None:
    loaded = load_batches(corpus, plan(corpus), workers=workers)
    assert [content(batch) for batch in loaded] == [content(collate(corpus, indices)) for indices in plan(corpus)]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_endless_plan_is_followed_only_as_far_as_needed(corpus, workers) -> None:
    """Stopping early ends the workers, too."""
    followed = itertools.count()
    endless = (np.array([next(followed) % len(corpus)]) for _ in itertools.count())
    loaded = load_batches(corpus, endless, workers=workers)
    first = [batch.index.tolist() for batch in itertools.islice(loaded, 5)]
    assert first == [[0], [1], [2], [3], [4]]
    assert next(followed) <= 5 + 3 * workers
    loaded.close()
    deadline = time.monotonic() + 20
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [0, 2])
def test_what_goes_wrong_in_a_batch_is_told(corpus, workers) -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        list(load_batches(corpus, [np.array([len(corpus)])], workers=workers))


@pytest.mark.parametrize("workers", [0, 1])
def test_loading_leaves_random_numbers_alone(corpus, workers) -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    list(load_batches(corpus, plan(corpus)[:3], workers=workers))
    assert torch.equal(torch.get_rng_state(), before)


def test_pinning_reaches_every_part_of_a_batch(corpus, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: tensor + 1)  # visible without a GPU
    (batch,) = load_batches(corpus, [np.array([3, 4])], pin=True)
    plain = collate(corpus, [3, 4])
    for pinned, tensor in zip(batch.tensors().values(), plain.tensors().values(), strict=True):
        assert torch.equal(pinned, tensor + 1)


def test_pinning_without_a_gpu_has_no_effect(corpus, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for workers in (0, 1):
        (batch,) = load_batches(corpus, [np.array([3])], pin=True, workers=workers)
        assert content(batch) == content(collate(corpus, [3]))


def test_a_batch_can_be_sent(corpus) -> None:
    batch = collate(corpus, [1, 2])
    assert content(pickle.loads(pickle.dumps(batch))) == content(batch)
