"""Cross entropy of single positions, smoothed over the whole vocabulary as the code lineage does."""

import torch
from torch import Tensor

from axenat.losses.checks import check_finite, check_smoothing, check_tokens, check_whole, seen
from axenat.losses.scoring import Choice, finite_means_, normalise, weighted_costs


def cross_entropy_loss(logits: Tensor, targets: Tensor, *, label_smoothing: float = 0.0, check: bool = True) -> Tensor:
    """(N V), (N,) -> (N,): (1 - e) * -log P(y) + (e / V) * sum over v of -log P(v).

    Without `check`, no value is looked at, which spares a GPU its wait.
    """
    targets = checked(logits, logits.shape[-1], targets, label_smoothing, check)
    log_norm, mean = normalise(logits)
    if check:
        check_finite(finite_means_(mean, logits).isfinite(), ("position",))
    return weighted_costs(logits, log_norm, mean, every_target(log_norm, targets, label_smoothing))


def every_target(log_norm: Tensor, targets: Tensor, label_smoothing: float) -> Choice:
    """Each row pays for its own target."""
    rows = torch.arange(len(targets), device=targets.device)
    weight, smooth = (torch.full_like(log_norm, share) for share in (1 - label_smoothing, label_smoothing))
    return Choice(rows, targets, weight, smooth, label_smoothing > 0)


def checked(positions: Tensor, V: int, targets: Tensor, label_smoothing: float, check: bool) -> Tensor:
    """The targets of logits (N V) or states (N D), unless anything but the logits' values is wrong."""
    if positions.ndim != 2 or not positions.is_floating_point():
        raise ValueError(f"logits or states must be floats (N V) or (N D), got {seen(positions)}")
    check_whole("targets", targets, 1, len(positions))
    check_smoothing(label_smoothing)
    if check:
        check_tokens(V, targets)
    return targets.long()
