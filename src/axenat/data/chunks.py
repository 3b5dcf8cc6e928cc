"""A corpus in chunks, and shards of whole chunks.

Rounding depends on which sentences are decoded together, and may decide between two that are nearly as good. So what
is decoded together is a chunk, and chunks depend on the number of lines alone: the number of shards changes no byte.
"""

import re

from axenat.files import UserError

CHUNKS = 64  # so many shards can share the work evenly; a killed one loses at most one chunk
FEWEST_LINES = 32  # smaller chunks would leave batches nearly empty
MOST_LINES = 65_536  # what is held in memory at once


def chunk_bounds(lines: int) -> list[int]:
    """Where each chunk begins, and the end of the last; they differ in size by one line at most."""
    size = min(max(lines // CHUNKS, FEWEST_LINES), MOST_LINES)
    chunks = -(-lines // size) or 1
    return [lines * chunk // chunks for chunk in range(chunks + 1)]


def shard_bounds(bounds: list[int], shard: str) -> list[int]:
    """The bounds of the chunks of shard 2-of-8, say. A shard without a chunk has one bound: where it would begin."""
    match = re.fullmatch(r"([0-9]+)-of-([0-9]+)", shard)
    number, shards = (int(part) for part in match.groups()) if match else (0, 0)
    if not 1 <= number <= shards:
        raise UserError(f"--shard {shard}: expected a part of a whole, such as 2-of-8")
    chunks = len(bounds) - 1
    return bounds[chunks * (number - 1) // shards : chunks * number // shards + 1]
