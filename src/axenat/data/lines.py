"""Lines of one or two files in blocks, so that a corpus of any size passes through little memory.

A block stays as it is on disk until somebody asks for its lines: decoding is work that other processes can do.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path

from axenat.files import check_parallel, decode_lines, open_text

PAIRS = 2_000  # of a block: enough to make its way to another process negligible


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines of a file, the last one with or without its newline."""

    name: str
    first: int  # number of its first line, from 1
    text: bytes

    def lines(self) -> list[str]:
        """As `files.iter_lines` gives them, or refuses them."""
        try:
            text = self.text.decode("utf-8")
        except UnicodeDecodeError:  # slowly, to tell the line
            return list(decode_lines(BytesIO(self.text), self.name, self.first))
        lines = text.removesuffix("\n").split("\n")
        return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def lines_and_sha256(path: str | Path) -> tuple[int, str]:
    """The number of lines and the checksum of a file that is read once for both."""
    number, last, digest = 0, b"\n", hashlib.sha256()
    with open_text(path) as stream:
        while block := stream.read(1 << 20):
            number, last = number + block.count(b"\n"), block[-1:]
            digest.update(block)
    return number + (last != b"\n"), digest.hexdigest()


Pair = tuple[Block, Block]


def read_pairs(source: str | Path, target: str | Path, size: int = PAIRS) -> Iterator[Pair]:
    """Both sides of a corpus, `size` lines at a time, each read once; refused where they stop to pair up."""
    number = 0
    with open_text(source) as sources, open_text(target) as targets:
        while True:
            left, right = list(islice(sources, size)), list(islice(targets, size))
            if len(left) != len(right) or not number + len(left):
                rest = [sum(1 for _ in stream) for stream in (sources, targets)]
                check_parallel(source, number + len(left) + rest[0], target, number + len(right) + rest[1])
            if not left:
                return
            yield Block(str(source), number + 1, b"".join(left)), Block(str(target), number + 1, b"".join(right))
            number += len(left)
