"""What an objective is: the decoder's input, its score and its read-out, which must agree."""

from dataclasses import dataclass, fields
from typing import Any, Protocol

import torch
from torch import Tensor

from axenat.data.batches import Batch
from axenat.losses.cross_entropy import cross_entropy_loss
from axenat.losses.projected import cross_entropy_from_states
from axenat.model.transformer import ModelOutput


@dataclass(frozen=True, slots=True)
class Canvas:
    """What the decoder sees."""

    ids: Tensor  # (B m)
    lengths: Tensor  # (B,)
    observed: Tensor  # (B m) True where the decoder may see the target token

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Canvas":
        return Canvas(*(getattr(self, item.name).to(device, non_blocking=non_blocking) for item in fields(self)))


@dataclass(frozen=True, slots=True)
class LossSum:
    """A sum with its count: micro-batches and ranks add up, and the loop divides once."""

    total: Tensor  # with gradient
    count: Tensor  # predicted tokens, or sentences
    parts: dict[str, Tensor]  # further sums, without gradient

    def sums(self) -> dict[str, Tensor]:
        """All of them without gradient, where they are: no device has to wait."""
        return {"total": self.total.detach(), "count": self.count, **self.parts}

    def detached(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.sums().items()}


class TokenLossSettings(Protocol):
    """How tokens are scored: keys that every system reads."""

    @property
    def label_smoothing(self) -> float: ...

    @property
    def projection(self) -> str: ...

    @property
    def normalise(self) -> str: ...


class LengthLossSettings(TokenLossSettings, Protocol):
    @property
    def length_loss_weight(self) -> float: ...


class Objective(Protocol):
    @property
    def causal(self) -> bool:
        """Does the decoder only look back?"""

    @property
    def predicts_length(self) -> bool: ...

    @property
    def banned(self) -> tuple[int, ...]:
        """Tokens that decoding never produces."""

    @property
    def drops_eos(self) -> bool:
        """Is the <eos> of a target not predicted?"""

    def canvas_lengths(self, target_lengths: Tensor) -> Tensor:
        """How many predictions there are in training for so many target tokens."""

    def canvas(self, batch: Batch, rng: torch.Generator) -> Canvas: ...

    def loss(self, output: ModelOutput, batch: Batch, canvas: Canvas) -> LossSum: ...

    def read_out(self, ids: list[int]) -> list[int]: ...


def cross_entropy_of(output: ModelOutput, scored: Tensor, targets: Tensor, config: TokenLossSettings) -> Tensor:
    """The sum over the positions (B m) that are scored; no other is projected."""
    states, targets = output.states[scored], targets[scored]
    how: Any = {"label_smoothing": config.label_smoothing, "check": False}  # the loop watches for what is not finite
    if config.projection == "fused":
        return cross_entropy_from_states(states, output.output_matrix, targets, **how)
    return cross_entropy_loss(states @ output.output_matrix.T, targets, **how).sum()


def count_of(tokens: Tensor, batch: Batch, config: TokenLossSettings) -> Tensor:
    """What the sum is divided by in the end."""
    return tokens if config.normalise == "tokens" else torch.full_like(tokens, len(batch))
