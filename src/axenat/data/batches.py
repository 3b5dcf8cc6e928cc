"""Batches of similar lengths under a token budget, the same for the same seed and epoch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from axenat.data.corpus import Lengths, ParallelCorpus
from axenat.data.shuffle import shuffle_keys, shuffled
from axenat.data.vocab import PAD

POOL = 1 << 17  # sentences sorted by length together; a corpus of no more is shuffled as a whole
Ids = Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Sentence pairs padded with PAD; each sentence ends with EOS, which its length counts."""

    source: Tensor  # (B s)
    source_lengths: Tensor  # (B,)
    target: Tensor  # (B n)
    target_lengths: Tensor  # (B,)
    index: Tensor  # (B,) sentence numbers in the corpus
    copied_from: "Batch | None" = None  # the same batch on the CPU

    def __len__(self) -> int:
        return len(self.index)

    @property
    def on_cpu(self) -> "Batch":
        """The batch that this one was copied from. Its values can be read while a GPU computes."""
        return self if self.copied_from is None else self.copied_from

    def to(self, device: torch.device | str) -> "Batch":
        origin = None if torch.device(device).type == "cpu" else self.on_cpu
        return self._each(lambda tensor: to_device(tensor, device), origin)

    def pin_memory(self) -> "Batch":
        """In memory that a GPU can fetch by itself while the CPU goes on."""
        return self._each(Tensor.pin_memory)

    def tensors(self) -> dict[str, Tensor]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}

    def _each(self, change: Callable[[Tensor], Tensor], origin: "Batch | None" = None) -> "Batch":
        return Batch(**{name: change(tensor) for name, tensor in self.tensors().items()}, copied_from=origin)


def to_device(tensor: Tensor, device: torch.device | str) -> Tensor:
    """A copy on the device. A GPU makes it while the CPU goes on, and in time for the work that is queued after it."""
    device = torch.device(device)
    if device.type == "cpu":  # what is read here must have arrived
        return tensor.to(device)
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()  # from other memory a GPU fetches nothing by itself
    return tensor.to(device, non_blocking=True)


def pad(sentences: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Sentences side by side (B, longest), filled up with PAD, and their lengths (B,)."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    padded = np.full((len(sentences), lengths.max(initial=0)), PAD, dtype=np.int64)
    if padded.size:
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.concatenate(sentences)
    return torch.from_numpy(padded), torch.from_numpy(lengths)


def collate(corpus: ParallelCorpus, indices: npt.NDArray[np.int64] | Sequence[int]) -> Batch:
    index = np.asarray(indices, dtype=np.int64)
    source, source_lengths = corpus.sources(index)
    target, target_lengths = corpus.targets(index)
    return Batch(
        source=torch.from_numpy(source),
        source_lengths=torch.from_numpy(source_lengths),
        target=torch.from_numpy(target),
        target_lengths=torch.from_numpy(target_lengths),
        index=torch.from_numpy(index),
    )


def plan_batches(
    source_lengths: Lengths | npt.NDArray[Any],
    target_lengths: Lengths | npt.NDArray[Any],
    tokens: int,
    *,
    seed: int,
    epoch: int,
    shuffle: bool = True,
) -> Iterator[npt.NDArray[np.int64]]:
    """Sentence numbers of each batch: every sentence once, at most `tokens` a batch with its padding.

    A batch costs its number of sentences times its longest source or target, whichever is longer;
    a sentence above the budget is a batch of its own. Without `shuffle`, short batches come first.
    However large the corpus, only one pool of it is sorted and held at a time.
    """
    rng = np.random.default_rng([seed, epoch])
    for order in _pools(len(source_lengths), rng if shuffle else None):
        source, target = source_lengths[order], target_lengths[order]
        by_length = _by_length(source, target)
        batches = np.split(order[by_length], _cut(np.maximum(source, target)[by_length], tokens))
        for i in rng.permutation(len(batches)) if shuffle else range(len(batches)):
            yield batches[i]


def _pools(size: int, rng: np.random.Generator | None) -> Iterator[npt.NDArray[np.int64]]:
    """All sentence numbers, at most POOL at a time, in random order or without an rng in their own."""
    number = -(-size // POOL)
    bounds = [size * i // number for i in range(number + 1)] if number else []
    keys = shuffle_keys(rng) if rng and number > 1 else None
    for start, stop in pairwise(bounds):
        if rng is None:
            yield np.arange(start, stop)
        elif keys is None:
            yield rng.permutation(size)
        else:
            yield shuffled(start, stop, size, keys)


def _by_length(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """A stable order in which neighbours are alike on both sides.

    First by the longer side, which sets the cost of a batch. Then by which side that is and by how much,
    there and back in turn, so that a batch across two widths does not mix the two extremes.
    """
    width, lead = np.maximum(source, target), target.astype(np.int64) - source
    lead = np.where(width % 2 == 0, lead, -lead)
    if width.max() <= np.iinfo(np.int16).max:
        # numpy sorts 16 bits by radix, several times faster.
        width, lead = width.astype(np.int16), lead.astype(np.int16)
    return np.lexsort((lead, width))


def _cut(widths: npt.NDArray[Any], tokens: int) -> list[int]:
    """Where each batch but the first starts, filling each up to the budget."""
    cuts: list[int] = []
    start = 0
    while True:
        # No batch from here can hold more sentences than this, since its first one alone sets its width.
        window = widths[start : start + max(1, tokens // max(1, int(widths[start])))]
        costs = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        start += max(1, int(np.searchsorted(costs, tokens, side="right")))
        if start >= len(widths):
            return cuts
        cuts.append(start)
