"""What an objective is: the decoder's input, its score and its read-out, which must agree."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from axenat.data.batches import Batch, to_device
from axenat.losses.cross_entropy import cross_entropy_loss
from axenat.losses.projected import cross_entropy_from_states
from axenat.model.transformer import ModelOutput


@dataclass(frozen=True, slots=True)
class Canvas:
    """What the decoder sees."""

    ids: Tensor  # (B m)
    lengths: Tensor  # (B,)
    observed: Tensor  # (B m) True where the decoder may see the target token
    copied_from: "Canvas | None" = None  # the same canvas on the CPU

    @property
    def on_cpu(self) -> "Canvas":
        """The canvas that this one was copied from. Its values can be read while a GPU computes."""
        return self if self.copied_from is None else self.copied_from

    def to(self, device: torch.device | str) -> "Canvas":
        origin = None if torch.device(device).type == "cpu" else self.on_cpu
        ids, lengths, observed = (to_device(tensor, device) for tensor in (self.ids, self.lengths, self.observed))
        return Canvas(ids, lengths, observed, origin)


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


@dataclass(frozen=True, slots=True)
class Step:
    """Where a training is when it scores a batch.

    All schedules are pure functions of it, so that a resumed run draws the same.
    """

    # What this micro-batch draws, on the CPU.
    rng: torch.Generator
    # Of this step, counted from 1, and how many there will be.
    number: int
    total: int
    # A validation always draws the same, and stands at the end of all schedules.
    validates: bool = False


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

    def canvas(self, batch: Batch, rng: torch.Generator) -> Canvas:
        """On the CPU, wherever the batch is."""

    def score(self, output: ModelOutput, batch: Batch, canvas: Canvas) -> LossSum: ...

    def loss(self, model: nn.Module, batch: Batch, step: Step) -> LossSum:
        """Of a batch on the device of the model, in as many passes as it takes."""

    def read_out(self, ids: list[int]) -> list[int]: ...


def one_pass(objective: Objective, model: nn.Module, batch: Batch, step: Step) -> LossSum:
    """The loss of a system whose canvas depends on nothing that the model says."""
    canvas = objective.canvas(batch, step.rng).to(batch.source.device)
    output = model(batch.source, batch.source_lengths, canvas.ids, canvas.lengths, objective.causal)
    return objective.score(output, batch, canvas)


def cross_entropy_of(
    output: ModelOutput, scored: Tensor, targets: Tensor, config: TokenLossSettings
) -> tuple[Tensor, Tensor]:
    """The sum over the positions that are scored, and their number; no other position is projected.

    `scored` (B m) is on the CPU: a GPU would have to say how many positions there are before the CPU could go on.
    """
    assert output.states.shape[:2] == scored.shape == targets.shape, "rows are counted alike in all three"
    device = output.states.device
    rows = to_device(scored.flatten().nonzero()[:, 0], device)
    number = torch.full((), len(rows), device=device)
    states, targets = output.states.flatten(0, 1)[rows], targets.flatten()[rows]
    how: Any = {"label_smoothing": config.label_smoothing, "check": False}  # the loop watches for what is not finite
    if config.projection == "fused":
        return cross_entropy_from_states(states, output.output_matrix, targets, **how), number
    return cross_entropy_loss(states @ output.output_matrix.T, targets, **how).sum(), number


def count_of(tokens: Tensor, batch: Batch, config: TokenLossSettings) -> Tensor:
    """What the sum is divided by in the end."""
    return tokens if config.normalise == "tokens" else torch.full_like(tokens, len(batch))
