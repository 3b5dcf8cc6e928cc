"""Cross entropy of single positions, smoothed over the whole vocabulary as the code lineage does."""

import torch
from torch import Tensor

from axenat.losses.scoring import Choice, normalise, weighted_costs


def cross_entropy_loss(logits: Tensor, targets: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    """(N V), (N,) -> (N,): (1 - e) * -log P(y) + (e / V) * sum over v of -log P(v)."""
    log_norm, mean = normalise(logits)
    return weighted_costs(logits, log_norm, mean, every_target(log_norm, targets, label_smoothing))


def every_target(log_norm: Tensor, targets: Tensor, label_smoothing: float) -> Choice:
    """Each row pays for its own target."""
    rows = torch.arange(len(targets), device=targets.device)
    weight, smooth = (torch.full_like(log_norm, share) for share in (1 - label_smoothing, label_smoothing))
    return Choice(rows, targets, weight, smooth, label_smoothing > 0)
