"""Writing a corpus of ids of any size in little memory, all or nothing.

Where an array begins depends on how long those before it are, so that each grows in a file of its own first.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

import numpy as np

from axenat.data.corpus import CHUNK, DTYPES, SIDES, SUM_BYTES, SUMS, Ids, checksum, id_type
from axenat.data.vocab import EOS
from axenat.files import UserError, atomic, told_if_full

Sizes = tuple[int, int]  # of the vocabularies of source and target
OFFSET = np.dtype("<i8")


def write_chunks(
    path: str | Path, chunks: Iterable[tuple[Ids, Ids]], *, sizes: Sizes, metadata: dict[str, str]
) -> None:
    """Store sentences that are encoded already, in the id types of vocabularies of these sizes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with told_if_full(path, "make room and run the same command again"), ExitStack() as stack:
        arrays = [
            _Array(name, dtype, stack.enter_context(tempfile.TemporaryFile(dir=path.parent)))
            for side, size in zip(SIDES, sizes, strict=True)
            for name, dtype in ((side, id_type(size)), (f"{side}_offsets", OFFSET))
        ]
        for array in arrays[1::2]:
            array.extend(np.zeros(1, dtype=OFFSET).tobytes())
        for chunk in chunks:
            for number, (ids, lengths) in enumerate(chunk):
                array, offsets = arrays[2 * number : 2 * number + 2]
                offsets.extend((array.length + lengths.cumsum()).astype(OFFSET).tobytes())
                array.extend(ids)
        if not arrays[0].length:
            raise UserError(f"{path}: no sentences to store; a corpus needs at least one pair")
        _join(path, arrays, metadata)


def write_corpus(
    path: str | Path,
    sources: Iterable[list[int]],
    targets: Iterable[list[int]],
    *,
    metadata: dict[str, str],
    sizes: Sizes = (1 << 16, 1 << 16),
) -> None:
    """Store lists of ids, an EOS added to each sentence."""
    pairs = zip_longest(sources, targets)
    write_chunks(path, _in_chunks(path, pairs, sizes), sizes=sizes, metadata=metadata)


def _in_chunks(path: str | Path, pairs: Iterator[tuple[Any, Any]], sizes: Sizes) -> Iterator[tuple[Ids, Ids]]:
    columns: tuple[list[list[int]], ...] = ([], [])
    for pair in pairs:
        for side, column, sentence in zip(SIDES, columns, pair, strict=True):
            if sentence is None:
                raise UserError(f"{path}: the {side} side has fewer sentences than the other")
            column.append([*sentence, EOS])
        if len(columns[0]) == CHUNK:
            yield _encoded(columns[0], sizes[0]), _encoded(columns[1], sizes[1])
            columns = ([], [])
    if columns[0]:
        yield _encoded(columns[0], sizes[0]), _encoded(columns[1], sizes[1])


def _encoded(sentences: list[list[int]], size: int) -> Ids:
    ids = np.fromiter((number for sentence in sentences for number in sentence), dtype=id_type(size))
    return Ids(ids.tobytes(), np.array(list(map(len, sentences)), dtype=np.int64))


class _Array:
    """Grows in a file that has no name and vanishes when it is closed."""

    def __init__(self, name: str, dtype: "np.dtype[Any]", stream: IO[bytes]) -> None:
        self.name, self.dtype, self.stream, self.nbytes = name, dtype, stream, 0

    def extend(self, data: bytes) -> None:
        self.stream.write(data)
        self.nbytes += len(data)

    @property
    def length(self) -> int:
        return self.nbytes // self.dtype.itemsize


def _join(path: Path, arrays: list[_Array], metadata: dict[str, str]) -> None:
    """One safetensors file, by hand so that equal input gives equal bytes (the library shuffles metadata)."""
    arrays = sorted(arrays, key=lambda array: (-array.dtype.itemsize, array.name))  # widest first: all are aligned
    number = -(-sum(array.nbytes for array in arrays) // SUM_BYTES)
    with atomic(path, "wb") as stream:
        stream.write(_header(arrays, {**metadata, SUMS: " ".join(["0" * 8] * number)}))
        sums = []
        for chunk in _chunks_of(arrays):
            stream.write(chunk)
            sums.append(checksum(chunk))
        stream.seek(0)
        stream.write(_header(arrays, {**metadata, SUMS: " ".join(sums)}))


def _header(arrays: list[_Array], metadata: dict[str, str]) -> bytes:
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    end = 0
    for array in arrays:
        begin, end = end, end + array.nbytes
        header[array.name] = {"dtype": names[array.dtype], "shape": [array.length], "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _chunks_of(arrays: list[_Array]) -> Iterator[bytes]:
    """The bytes of all arrays one after the other, cut for their checksums."""
    chunk = b""
    for array in arrays:
        array.stream.seek(0)
        while data := array.stream.read(SUM_BYTES - len(chunk)):
            chunk += data
            if len(chunk) == SUM_BYTES:
                yield chunk
                chunk = b""
    if chunk:
        yield chunk
