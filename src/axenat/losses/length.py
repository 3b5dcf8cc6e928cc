"""The auxiliary task of conditional masked models: how many tokens does the translation have?"""

from torch import Tensor
from torch.nn import functional as F


def length_loss(length_logits: Tensor, target_lengths: Tensor) -> Tensor:
    """(B, classes), (B,) -> (B,). Never smoothed: class 0 has probability zero."""
    return F.cross_entropy(length_logits.float(), target_lengths, reduction="none")
