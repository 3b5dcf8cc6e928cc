"""Which target tokens the decoder sees in training (section 3.3), and the blank page of inference."""

import torch
from torch import Tensor

from axenat.data.batches import Batch
from axenat.data.vocab import MASK, PAD
from axenat.objectives.base import Canvas, token_mask


def hide_some(lengths: Tensor, size: int, rng: torch.Generator) -> Tensor:
    """(B size), True at hidden tokens: their number is uniform from 1 to n, every subset equally likely."""
    inside = token_mask(lengths, size)
    noise = torch.rand(len(lengths), size, generator=rng).masked_fill(~inside, 2.0)
    rank = noise.argsort(1).argsort(1)
    number = (torch.rand(len(lengths), generator=rng) * lengths).long() + 1
    return inside & (rank < number[:, None])


def masked_canvas(batch: Batch, observe: str, rng: torch.Generator) -> Canvas:
    """The target with hidden tokens replaced by <mask>; drawn on the CPU, so equal on every device."""
    lengths, size = batch.target_lengths.cpu(), batch.target.shape[1]
    inside = token_mask(lengths, size)
    hidden = hide_some(lengths, size, rng) if observe == "some" else inside
    hidden, observed = hidden.to(batch.target.device), (inside & ~hidden).to(batch.target.device)
    return Canvas(batch.target.masked_fill(hidden, MASK), batch.target_lengths, observed)


def blank_page(lengths: Tensor) -> Canvas:
    """Inference: nothing is observed."""
    inside = token_mask(lengths, int(lengths.max()))
    ids = torch.full_like(inside, PAD, dtype=torch.long).masked_fill(inside, MASK)
    return Canvas(ids, lengths, torch.zeros_like(inside))
