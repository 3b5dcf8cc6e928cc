"""A parallel corpus of ids: one safetensors file per split, read through a memory map.

Both sides are flat arrays of ids; sentence i is `ids[offsets[i]:offsets[i + 1]]` and ends with EOS.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from axenat.data.vocab import EOS, PAD, Vocab
from axenat.files import UserError, atomic

DTYPES: dict[str, type[np.generic]] = {"U16": np.uint16, "I32": np.int32, "I64": np.int64}
SIDES = ("source", "target")
CHUNK = 1 << 16  # sentences looked at together where all have to be

Padded = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # ids (B, longest) filled up with PAD, lengths (B,)


def vocab_metadata(source_vocab: Vocab, target_vocab: Vocab) -> dict[str, str]:
    """What a corpus file says about the vocabularies that its ids belong to."""
    return {"source_vocab_sha256": source_vocab.sha256, "target_vocab_sha256": target_vocab.sha256}


def write_corpus(
    path: str | Path,
    sources: Iterable[list[int]],
    targets: Iterable[list[int]],
    *,
    metadata: dict[str, str],
) -> None:
    """Store the ids of both sides, an EOS added to each sentence; all or nothing."""
    ids = {side: array("i") for side in SIDES}
    offsets = {side: array("q", [0]) for side in SIDES}
    for pair in zip_longest(sources, targets):
        for side, sentence in zip(SIDES, pair, strict=True):
            if sentence is None:
                raise UserError(f"{path}: the {side} side has fewer sentences than the other")
            ids[side].extend(sentence)
            ids[side].append(EOS)
            offsets[side].append(len(ids[side]))
    if not ids["source"]:
        raise UserError(f"{path}: no sentences to store; a corpus needs at least one pair")
    arrays: dict[str, npt.NDArray[Any]] = {}
    for side in SIDES:
        arrays[side] = _narrow(np.frombuffer(ids[side], dtype=np.int32))
        arrays[f"{side}_offsets"] = np.frombuffer(offsets[side], dtype=np.int64)
    _write_safetensors(Path(path), arrays, metadata)


def _narrow(ids: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    return ids.astype(np.uint16) if ids.max() <= np.iinfo(np.uint16).max else ids


def _write_safetensors(path: Path, arrays: Mapping[str, npt.NDArray[Any]], metadata: dict[str, str]) -> None:
    """Written by hand so that equal input gives equal bytes (the library shuffles metadata)."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    # Widest first keeps every array aligned.
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    end = 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        header[name] = {
            "dtype": names[arrays[name].dtype],
            "shape": list(arrays[name].shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic(path, "wb") as stream:
        stream.write(len(text).to_bytes(8, "little"))
        stream.write(text)
        for name in order:
            stream.write(arrays[name].data)


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
