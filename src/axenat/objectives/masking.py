"""Which target tokens the decoder sees in training (section 3.3), and the blank page of inference."""

from dataclasses import replace

import torch
from torch import Tensor

from axenat.data.batches import Batch
from axenat.data.vocab import MASK, PAD
from axenat.losses.rows import within
from axenat.objectives.base import Canvas


def predicted(batch: Batch, eos: str) -> Batch:
    """The batch with the targets that are predicted: with <eos>, or without, if eos is "drop".

    An empty target keeps its <eos> even so: every sentence has a position, and a length that the head can predict.
    """
    if eos == "keep":
        return batch
    lengths, size = (batch.target_lengths - 1).clamp(min=1), max(1, batch.target.shape[1] - 1)
    target = batch.target[:, :size].masked_fill(~within(lengths, size), PAD)
    origin = None if batch.copied_from is None else predicted(batch.copied_from, eos)
    return replace(batch, target=target, target_lengths=lengths, copied_from=origin)


def scaled(lengths: Tensor, multiplier: float) -> Tensor:
    """Lengths times a factor, rounded half up although floats are not exact; at least 1."""
    return (lengths.double() * multiplier + 0.5 + 1e-9).floor().long().clamp(min=1)


def hide_some(lengths: Tensor, size: int, rng: torch.Generator, most: str = "all") -> Tensor:
    """(B size), True at hidden tokens: their number is uniform from 1 to n, every subset equally likely.

    With "all_but_one" it is uniform from 1 to n - 1 (1 if n is 1), as in the code of Mask-Predict.
    Differs from the paper: a footnote of section 3.3 says n.
    """
    inside = within(lengths, size)
    noise = torch.rand(len(lengths), size, generator=rng).masked_fill(~inside, 2.0)
    rank = noise.argsort(1).argsort(1)
    largest = lengths if most == "all" else (lengths - 1).clamp(min=1)
    number = (torch.rand(len(lengths), generator=rng) * largest).long() + 1
    return inside & (rank < number[:, None])


def masked_canvas(batch: Batch, observe: str, rng: torch.Generator, most_hidden: str = "all") -> Canvas:
    """The target with hidden tokens replaced by <mask>; drawn on the CPU, so equal on every device."""
    batch = batch.on_cpu
    lengths, size = batch.target_lengths, batch.target.shape[1]
    inside = within(lengths, size)
    hidden = hide_some(lengths, size, rng, most_hidden) if observe == "some" else inside
    return Canvas(batch.target.masked_fill(hidden, MASK), lengths, inside & ~hidden)


def blank_page(lengths: Tensor) -> Canvas:
    """Inference: nothing is observed."""
    inside = within(lengths, int(lengths.max()))
    ids = torch.full_like(inside, PAD, dtype=torch.long).masked_fill(inside, MASK)
    return Canvas(ids, lengths, torch.zeros_like(inside))
