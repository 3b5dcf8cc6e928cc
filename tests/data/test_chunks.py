"""Chunks depend on the number of lines alone, and shards are runs of whole chunks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.data.chunks import CHUNKS, FEWEST_LINES, MOST_LINES, chunk_bounds, shard_bounds
from axenat.files import UserError

numbers_of_lines = st.one_of(st.integers(0, 10_000), st.integers(0, 50_000_000))


def shards(lines: int, number: int) -> list[list[int]]:
    return [shard_bounds(chunk_bounds(lines), f"{shard}-of-{number}") for shard in range(1, number + 1)]


@given(numbers_of_lines)
def test_every_line_is_in_one_chunk_in_order_and_chunks_are_of_even_size(lines) -> None:
    bounds = chunk_bounds(lines)
    sizes = [end - start for start, end in pairwise(bounds)]
    assert (bounds[0], bounds[-1], sum(sizes)) == (0, lines, lines)
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= MOST_LINES


@given(numbers_of_lines)
def test_there_are_enough_chunks_to_share_and_none_is_tiny_without_need(lines) -> None:
    bounds = chunk_bounds(lines)
    if lines >= CHUNKS * FEWEST_LINES:
        assert len(bounds) - 1 >= CHUNKS
    if lines >= FEWEST_LINES:
        assert bounds[1] >= FEWEST_LINES // 2


@given(numbers_of_lines, st.integers(1, 100))
def test_the_chunks_of_all_shards_in_order_are_the_chunks_of_the_corpus(lines, number) -> None:
    parts = shards(lines, number)
    chunks = [chunk for bounds in parts for chunk in pairwise(bounds)]
    assert chunks == list(pairwise(chunk_bounds(lines)))


@given(numbers_of_lines, st.integers(1, 100))
def test_each_shard_begins_where_the_one_before_it_ends_and_shares_are_even(lines, number) -> None:
    parts = shards(lines, number)
    assert parts[0][0] == 0 and parts[-1][-1] == lines
    assert all(one[-1] == other[0] for one, other in pairwise(parts))
    chunks = [len(bounds) - 1 for bounds in parts]
    assert max(chunks) - min(chunks) <= 1


@pytest.mark.parametrize("shard", ["0-of-3", "4-of-3", "1-of-0", "1/3", "one-of-two", "-1-of-3"])
def test_a_shard_that_is_no_part_of_a_whole_is_refused(shard) -> None:
    with pytest.raises(UserError, match="expected a part of a whole, such as 2-of-8"):
        shard_bounds([0, 1], shard)
