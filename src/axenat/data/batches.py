"""Batches of similar lengths under a token budget, the same for the same seed and epoch."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from axenat.data.corpus import ParallelCorpus
from axenat.data.vocab import PAD

Ids = Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Sentence pairs padded with PAD; each sentence ends with EOS, which its length counts."""

    source: Tensor  # (B s)
    source_lengths: Tensor  # (B,)
    target: Tensor  # (B n)
    target_lengths: Tensor  # (B,)
    index: Tensor  # (B,) sentence numbers in the corpus

    def __len__(self) -> int:
        return len(self.index)

    def to(self, device: torch.device | str) -> "Batch":
        return Batch(**{item.name: getattr(self, item.name).to(device) for item in fields(self)})


def pad(sentences: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Sentences side by side (B, longest), filled up with PAD, and their lengths (B,)."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    padded = np.full((len(sentences), lengths.max(initial=0)), PAD, dtype=np.int64)
    if padded.size:
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.concatenate(sentences)
    return torch.from_numpy(padded), torch.from_numpy(lengths)


def collate(corpus: ParallelCorpus, indices: npt.NDArray[np.int64] | Sequence[int]) -> Batch:
    source, source_lengths = pad([corpus.source(i) for i in indices])
    target, target_lengths = pad([corpus.target(i) for i in indices])
    return Batch(
        source=source,
        source_lengths=source_lengths,
        target=target,
        target_lengths=target_lengths,
        index=torch.as_tensor(np.asarray(indices, dtype=np.int64)),
    )


def plan_batches(
    source_lengths: npt.NDArray[Any],
    target_lengths: npt.NDArray[Any],
    tokens: int,
    *,
    seed: int,
    epoch: int,
    shuffle: bool = True,
) -> list[npt.NDArray[np.int64]]:
    """Sentence numbers of each batch: every sentence once, at most `tokens` a batch with its padding.

    A batch costs its number of sentences times its longest source or target, whichever is longer;
    a sentence above the budget is a batch of its own. Without `shuffle`, short batches come first.
    """
    if len(source_lengths) == 0:
        return []
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(source_lengths)) if shuffle else np.arange(len(source_lengths))
    order = order[_by_length(source_lengths[order], target_lengths[order])]
    cuts = _cut(np.maximum(source_lengths, target_lengths)[order], tokens)
    batches = np.split(order, cuts)
    if shuffle:
        batches = [batches[i] for i in rng.permutation(len(batches))]
    return batches


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
