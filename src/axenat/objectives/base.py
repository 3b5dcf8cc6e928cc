"""What an objective is: the decoder's input, its score and its read-out, which must agree."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from axenat.data.batches import Batch
from axenat.model.transformer import ModelOutput


@dataclass(frozen=True, slots=True)
class Canvas:
    """What the decoder sees."""

    ids: Tensor  # (B m)
    lengths: Tensor  # (B,)
    observed: Tensor  # (B m) True where the decoder may see the target token


@dataclass(frozen=True, slots=True)
class LossSum:
    """A sum with its count: micro-batches and ranks add up, and the loop divides once."""

    total: Tensor  # with gradient
    count: Tensor  # predicted tokens
    parts: dict[str, Tensor]  # further sums, without gradient

    def detached(self) -> dict[str, float]:
        sums = {"total": self.total.detach(), "count": self.count, **self.parts}
        return {name: float(value) for name, value in sums.items()}


class Objective(Protocol):
    @property
    def causal(self) -> bool:
        """Does the decoder only look back?"""

    @property
    def predicts_length(self) -> bool: ...

    @property
    def banned(self) -> tuple[int, ...]:
        """Tokens that decoding never produces."""

    def canvas(self, batch: Batch, rng: torch.Generator) -> Canvas: ...

    def loss(self, output: ModelOutput, batch: Batch, canvas: Canvas) -> LossSum: ...

    def read_out(self, ids: list[int]) -> list[int]: ...


def token_mask(lengths: Tensor, size: int) -> Tensor:
    """(B size), True at tokens, False at padding."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]
