"""How often a file is opened, and how many of its bytes are read through what was opened."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock


@dataclass
class Reads:
    opened: int = 0
    num_bytes: int = 0


class _Counted:
    """A file; whatever is not about reading is its own."""

    def __init__(self, stream: Any, reads: Reads) -> None:
        self._stream, self._reads = stream, reads

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        self._reads.num_bytes += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        size: int = self._stream.readinto(buffer)
        self._reads.num_bytes += size
        return size

    def __iter__(self) -> Iterator[bytes]:
        for line in self._stream:
            self._reads.num_bytes += len(line)
            yield line

    def __enter__(self) -> "_Counted":
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def counted_reads(path: str | Path) -> Iterator[Reads]:
    """Of one file, while this lasts. Bytes that are only mapped into memory are not counted, opening them is."""
    wanted, reads, opener = os.path.realpath(path), Reads(), io.open

    def counting(file: Any, *arguments: Any, **named: Any) -> Any:
        stream = opener(file, *arguments, **named)
        if isinstance(file, int) or os.path.realpath(file) != wanted:
            return stream
        reads.opened += 1
        return _Counted(stream, reads)

    with mock.patch("io.open", counting), mock.patch("builtins.open", counting):
        yield reads
