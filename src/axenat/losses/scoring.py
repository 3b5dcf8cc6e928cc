"""The end of every loss here: a weighted sum of costs -log P_r(v), and its gradient in one pass.

Predictions are rows of logits. Cross entropy pays for the target of each row, AXE for whatever its alignment
chose. Large rows are worked on in blocks that stay in the cache, so no second tensor of their size is kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

# Elements at once: on a CPU what its last cache holds, and no less, since threads meet after every operation on a block
# and beside busy neighbours wait long for each other; on a GPU few and large kernels are faster.
BLOCK = {"cpu": 1 << 22, "cuda": 1 << 26}


@dataclass(frozen=True, slots=True)
class Choice:
    """What is paid for: `weight` times the cost of `token` at `row`, and `smooth` times a row's mean cost."""

    row: Tensor  # (K,)
    token: Tensor  # (K,)
    weight: Tensor  # (K,)
    smooth: Tensor  # (N,)
    smoothed: bool  # is any of them above zero? Asking the tensor would make a GPU wait
    some_free: bool = False  # may many rows pay nothing?

    def per_row(self) -> Tensor:
        """The sum of weights (N,): times the probabilities of a row, what its logits are pushed down by."""
        return self.smooth.index_add(0, self.row, self.weight)

    def only(self, rows: Tensor) -> "Choice":
        """For some rows (ascending numbers), which must be all that pay."""
        number = torch.zeros_like(self.smooth, dtype=torch.int64)
        number[rows] = torch.arange(len(rows), device=rows.device)
        paid = self.weight.nonzero()[:, 0]
        return replace(
            self, row=number[self.row[paid]], token=self.token[paid], weight=self.weight[paid], smooth=self.smooth[rows]
        )

    def times(self, factor: Tensor) -> "Choice":
        """Scaled by one factor a row (N,)."""
        return replace(self, weight=self.weight * factor[self.row], smooth=self.smooth * factor)


def wide(logits: Tensor) -> torch.dtype:
    """Sums are made in float32 or better."""
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


@torch.no_grad()
def normalise(logits: Tensor) -> tuple[Tensor, Tensor]:
    """(N V) -> logsumexp (N,) and mean (N,) of each row; a mean is finite only where all its logits are.

    The reverse does not hold: sums of finite logits may overflow (see `finite_means_`).
    """
    N, V = logits.shape
    log_norm = torch.empty(N, dtype=wide(logits), device=logits.device)
    mean = torch.empty_like(log_norm)
    scratch = None
    for rows in _blocks(logits):
        block = logits[rows]
        top = block.amax(1, keepdim=True).to(log_norm.dtype)
        if scratch is None:
            scratch = torch.empty(len(block), V, dtype=log_norm.dtype, device=logits.device)
        exponentials = torch.sub(block, top, out=scratch[: len(block)]).exp_()
        log_norm[rows] = exponentials.sum(1).log_() + top[:, 0]
        mean[rows] = block.mean(1, dtype=log_norm.dtype)
    return log_norm, mean


@torch.no_grad()
def finite_means_(mean: Tensor, logits: Tensor) -> Tensor:
    """Where only the sum overflowed, as with the least float32 for a mask, the mean itself; a GPU waits for it."""
    if bool(mean.isfinite().all()):
        return mean
    for rows in _blocks(logits):
        lost = ~mean[rows].isfinite()
        shares = logits[rows][lost].double() / logits.shape[1]
        mean[rows][lost] = shares.sum(1).to(mean.dtype)
    return mean


def costs(logits: Tensor, log_norm: Tensor, mean: Tensor, choice: Choice) -> Tensor:
    """What each row pays (N,)."""
    paid = log_norm[choice.row] - logits[choice.row, choice.token].to(log_norm.dtype)
    total = choice.smooth * (log_norm - mean) if choice.smoothed else torch.zeros_like(log_norm)
    return total.index_add_(0, choice.row, choice.weight * paid)


def gradient_(out: Tensor, logits: Tensor, log_norm: Tensor, choice: Choice) -> Tensor:
    """Of the sum of `costs` with respect to the logits; `out` may be the logits themselves."""
    pushed_down = choice.per_row()[:, None]
    for rows in _blocks(logits):
        block = torch.sub(logits[rows], log_norm[rows, None], out=out[rows])
        block.exp_().mul_(pushed_down[rows])
        if choice.smoothed:
            block.sub_(choice.smooth[rows, None] / logits.shape[1])
    return out.index_put_((choice.row, choice.token), -choice.weight, accumulate=True)


class WeightedCosts(torch.autograd.Function):
    """`costs` with its gradient."""

    @staticmethod
    def forward(ctx, logits, log_norm, mean, row, token, weight, smooth, smoothed):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(logits, log_norm, row, token, weight, smooth)
        ctx.smoothed = smoothed
        return costs(logits, log_norm, mean, Choice(row, token, weight, smooth, smoothed))

    @staticmethod
    def backward(ctx, upstream):  # type: ignore[no-untyped-def]
        logits, log_norm, row, token, weight, smooth = ctx.saved_tensors
        choice = Choice(row, token, weight, smooth, ctx.smoothed)
        out = torch.empty_like(logits, dtype=log_norm.dtype)
        gradient = gradient_(out, logits, log_norm, choice.times(upstream))
        return gradient.to(logits.dtype), *([None] * 7)


def weighted_costs(logits: Tensor, log_norm: Tensor, mean: Tensor, choice: Choice) -> Tensor:
    paid: Tensor = WeightedCosts.apply(  # type: ignore[no-untyped-call]
        logits, log_norm, mean, choice.row, choice.token, choice.weight, choice.smooth, choice.smoothed
    )
    return paid


def _blocks(logits: Tensor) -> Iterator[slice]:
    size = max(1, BLOCK.get(logits.device.type, 1 << 26) // logits.shape[1])
    return (slice(start, start + size) for start in range(0, len(logits), size))
