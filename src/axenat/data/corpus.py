"""A parallel corpus of ids: one safetensors file per split, read through a memory map.

Both sides are flat arrays of ids; sentence i is `ids[offsets[i]:offsets[i + 1]]` and ends with EOS.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axenat.data.vocab import PAD, Vocab
from axenat.files import UserError

DTYPES: dict[str, type[np.generic]] = {"U16": np.uint16, "I32": np.int32, "I64": np.int64}
SIDES = ("source", "target")
CHUNK = 1 << 16  # sentences looked at together where all have to be
SUM_BYTES = 1 << 24  # of the arrays, that have a checksum of their own
SUMS = "crc32_of_16_MiB"  # its name in the metadata

Padded = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # ids (B, longest) filled up with PAD, lengths (B,)


def vocab_metadata(source_vocab: Vocab, target_vocab: Vocab) -> dict[str, str]:
    """What a corpus file says about the vocabularies that its ids belong to."""
    return {"source_vocab_sha256": source_vocab.sha256, "target_vocab_sha256": target_vocab.sha256}


def id_type(vocabulary: int) -> "np.dtype[Any]":
    """The smallest type that has room for the ids of a vocabulary of this size; little-endian, as files are."""
    return np.dtype("<u2") if vocabulary <= 1 << 16 else np.dtype("<i4")


class Ids(NamedTuple):
    """Sentences of one side, one after the other, an EOS at the end of each."""

    ids: bytes
    lengths: npt.NDArray[np.int64]


def checksum(chunk: bytes) -> str:
    return f"{zlib.crc32(chunk):08x}"


class Lengths:
    """The number of tokens of each sentence, worked out from the mapped offsets when asked for, never held."""

    def __init__(self, offsets: npt.NDArray[np.int64]) -> None:
        self._starts, self._ends = offsets[:-1], offsets[1:]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, which: Any) -> Any:
        """As of an array: by a number, a slice, or an array of either numbers or truth values."""
        return self._ends[which] - self._starts[which]

    def max(self) -> int:
        return max(int(some.max()) for some in self.chunks())

    def chunks(self) -> Iterator[npt.NDArray[np.int64]]:
        """All of them, few at a time."""
        for start in range(0, len(self), CHUNK):
            yield self[start : start + CHUNK]


class ParallelCorpus:
    """Sentence pairs on disk; opening one costs no memory, however many they are."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            arrays, self.metadata = _map_safetensors(self.path)
            self._source, self._target = arrays["source"], arrays["target"]
            self._source_offsets, self._target_offsets = arrays["source_offsets"], arrays["target_offsets"]
            self.source_lengths = _checked_lengths(self._source, self._source_offsets)
            self.target_lengths = _checked_lengths(self._target, self._target_offsets)
            if len(self.source_lengths) != len(self.target_lengths):
                raise ValueError("its sides have different numbers of sentences")
        except FileNotFoundError:
            raise UserError(f"{self.path}: no such file") from None
        except (ValueError, TypeError, LookupError, AttributeError, OSError) as error:
            # Whatever a damaged header can trip over; the file was not written by us, or not to its end.
            raise UserError(f"{self.path}: not a whole id file ({error}); encode it again") from None

    def __reduce__(self) -> tuple[type["ParallelCorpus"], tuple[Path]]:
        return ParallelCorpus, (self.path,)  # a worker process maps the file anew instead of copying it

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, i: int) -> npt.NDArray[Any]:
        return self._source[self._source_offsets[i] : self._source_offsets[i + 1]]

    def target(self, i: int) -> npt.NDArray[Any]:
        return self._target[self._target_offsets[i] : self._target_offsets[i + 1]]

    def sources(self, index: npt.NDArray[np.int64]) -> Padded:
        return _gather(self._source, self._source_offsets, index)

    def targets(self, index: npt.NDArray[np.int64]) -> Padded:
        return _gather(self._target, self._target_offsets, index)

    def verify(self) -> str:
        """Read the whole file, little at a time, and refuse it if anything changed since it was written.

        Returns the sha256 of the file, so that nobody has to read gigabytes a second time for it.
        """
        if SUMS not in self.metadata:
            raise UserError(f"{self.path} has no checksums, since an earlier version wrote it; encode it again")
        expected = self.metadata[SUMS].split()
        with self.path.open("rb") as stream:
            size = stream.read(8)
            header = size + stream.read(int.from_bytes(size, "little"))
            if len(expected) != -(-(self.path.stat().st_size - len(header)) // SUM_BYTES):
                raise UserError(f"{self.path}: its checksums do not fit its size; encode it again")
            digest = hashlib.sha256(header)
            for number, value in enumerate(expected, start=1):
                chunk = stream.read(SUM_BYTES)
                if checksum(chunk) != value:
                    where = f"chunk {number} of {len(expected)}, of 16 MiB each"
                    raise UserError(f"{self.path}: damaged since it was written ({where}); encode it again")
                digest.update(chunk)
        return digest.hexdigest()

    def check_vocab(self, source_vocab: Vocab, target_vocab: Vocab) -> None:
        """Refuse vocabularies that these ids were not made with."""
        for key, wanted in vocab_metadata(source_vocab, target_vocab).items():
            if self.metadata.get(key) != wanted:
                side = key.split("_")[0]
                raise UserError(f"{self.path} was encoded with another {side} vocabulary; encode it again")


def _map_safetensors(path: Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """The arrays of a file as views into it, and its metadata."""
    memory: npt.NDArray[np.uint8] = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    start = 8 + int.from_bytes(memory[:8].tobytes(), "little")
    if not 8 < start <= len(memory):
        raise ValueError("its header is cut short")
    header: dict[str, Any] = json.loads(memory[8:start].tobytes().decode())
    metadata: dict[str, str] = dict(header.pop("__metadata__", {}))
    payload = memory[start:]
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = payload[begin:end].view(DTYPES[entry["dtype"]])
        if list(arrays[name].shape) != entry["shape"]:
            raise ValueError(f"{name} is cut short")
    if sum(array.nbytes for array in arrays.values()) != len(payload):
        raise ValueError("its size is not what its header says")
    return arrays, metadata


def _checked_lengths(ids: npt.NDArray[Any], offsets: npt.NDArray[np.int64]) -> Lengths:
    lengths = Lengths(offsets)
    ends = len(lengths) > 0 and offsets[0] == 0 and offsets[-1] == len(ids)
    if not ends or min(int(some.min()) for some in lengths.chunks()) < 1:
        raise ValueError("its offsets do not fit its ids")
    return lengths


def _gather(ids: npt.NDArray[Any], offsets: npt.NDArray[np.int64], index: npt.NDArray[np.int64]) -> Padded:
    """All at once: as many ids from the start of each sentence as the longest has, then PAD over the others'."""
    starts = offsets[index]
    lengths = offsets[index + 1] - starts
    places = np.arange(lengths.max(initial=0))
    padded = ids.take(starts[:, None] + places, mode="clip").astype(np.int64)
    padded[places >= lengths[:, None]] = PAD
    return padded, lengths
