"""Cross entropy of single positions, smoothed over the whole vocabulary as the code lineage does."""

from torch import Tensor
from torch.nn import functional as F


def cross_entropy_loss(logits: Tensor, targets: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    """(N V), (N,) -> (N,): (1 - e) * -log P(y) + (e / V) * sum over v of -log P(v)."""
    return F.cross_entropy(logits.float(), targets, reduction="none", label_smoothing=label_smoothing)
