"""An order worked out in pieces is one order of everything, and as good as any other random one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.data.shuffle import shuffle_keys, shuffled


def keys(seed: int) -> np.ndarray:
    return shuffle_keys(np.random.default_rng(seed))


@given(st.integers(1, 3_000), st.integers(0, 99))
def test_everything_comes_once(size, seed) -> None:
    assert sorted(shuffled(0, size, size, keys(seed))) == list(range(size))


@given(st.integers(1, 3_000), st.lists(st.integers(0, 3_000), max_size=5))
def test_pieces_make_up_the_whole(size, cuts) -> None:
    bounds = sorted([0, size, *(cut for cut in cuts if cut < size)])
    pieces = [shuffled(start, stop, size, keys(1)) for start, stop in pairwise(bounds)]
    assert np.concatenate(pieces).tolist() == shuffled(0, size, size, keys(1)).tolist()


def test_the_keys_alone_decide_the_order() -> None:
    first = shuffled(0, 1_000, 1_000, keys(1)).tolist()
    assert shuffled(0, 1_000, 1_000, keys(1)).tolist() == first
    assert shuffled(0, 1_000, 1_000, keys(2)).tolist() != first


@pytest.mark.parametrize("size", [5, 33, 1_000])
def test_everything_is_equally_likely_everywhere(size) -> None:
    """Pearson's statistic of places (in at most ten parts) against values is about its degrees of freedom."""
    parts, seeds = min(size, 10), 4_000
    counts = np.zeros((parts, parts))
    for seed in range(seeds):
        order = shuffled(0, size, size, keys(seed))
        chosen = np.random.default_rng(seed).integers(size)  # one a seed, since those of an order are not independent
        counts[chosen * parts // size, order[chosen] * parts // size] += 1
    share = np.bincount(np.arange(size) * parts // size) / size
    expected = seeds * share[:, None] * share
    freedom = (parts - 1) ** 2 + 2 * (parts - 1)
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom)


def test_neighbours_part() -> None:
    order = shuffled(0, 100_000, 100_000, keys(1))
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.02
    assert np.mean(np.abs(np.diff(order)) == 1) < 0.001
