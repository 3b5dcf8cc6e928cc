"""Where the predictions of each sentence stand among the rows of logits."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows are counted over the whole batch; sentences may have as many each, or just their own."""

    of: Tensor  # (B m) row of a prediction; any row at padding
    sentence: Tensor  # (N,) sentence of a row
    inside: Tensor  # (B m) True at predictions, False at padding

    @classmethod
    def padded(cls, prediction_lengths: Tensor, m: int) -> "Rows":
        """Every sentence has m rows."""
        B, device = len(prediction_lengths), prediction_lengths.device
        row = torch.arange(B * m, device=device)
        return cls(row.view(B, m), row // max(m, 1), within(prediction_lengths, m))


def within(lengths: Tensor, size: int) -> Tensor:
    """(B size), True at the places before a sentence's length."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]
