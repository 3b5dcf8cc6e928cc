"""Aligned cross entropy (section 2 of the paper): align, then score.

The costs forget the vocabulary, the table and trace-back run without gradient, and since A[n, m] is a
minimum of sums, its gradient is that of the sum along the best path (the envelope theorem).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor

from axenat.losses.kernels import torch_table
from axenat.losses.kernels.choose import table_backend


class Op(IntEnum):
    """The local operators of Table 1."""

    ALIGN = torch_table.ALIGN
    SKIP_PREDICTION = torch_table.SKIP_PREDICTION
    SKIP_TARGET = torch_table.SKIP_TARGET


@dataclass(frozen=True, slots=True)
class Alignment:
    """alpha of the paper, with the operators that made it."""

    prediction_of_target: Tensor  # (B n) counted from 0; 0 at padding
    operator: Tensor  # (B n) Op.ALIGN or Op.SKIP_TARGET; -1 at padding
    skipped_prediction: Tensor  # (B m) True where P_j predicted the blank
    total: Tensor  # (B,) A[n, m]


def axe_loss(
    logits: Tensor,  # (B m V)
    targets: Tensor,  # (B n)
    *,
    prediction_lengths: Tensor,  # (B,)
    target_lengths: Tensor,  # (B,)
    blank_id: int,
    skip_target_penalty: float = 1.0,
    observed: Tensor | None = None,  # (B n) True where the decoder saw the token
    label_smoothing: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    """A[n, m] for each sentence (B,), with the exact subgradient."""
    return axe_loss_and_alignment(
        logits, targets, prediction_lengths=prediction_lengths, target_lengths=target_lengths, blank_id=blank_id,
        skip_target_penalty=skip_target_penalty, observed=observed, label_smoothing=label_smoothing, backend=backend,
    )[0]  # fmt: skip


def axe_align(
    logits: Tensor,
    targets: Tensor,
    *,
    prediction_lengths: Tensor,
    target_lengths: Tensor,
    blank_id: int,
    skip_target_penalty: float = 1.0,
    observed: Tensor | None = None,
    label_smoothing: float = 0.0,
    backend: str = "auto",
) -> Alignment:
    """The best alignment; label smoothing acts outside the minimum, so it never changes it."""
    return axe_loss_and_alignment(
        logits.detach(), targets, prediction_lengths=prediction_lengths, target_lengths=target_lengths,
        blank_id=blank_id, skip_target_penalty=skip_target_penalty, observed=observed,
        label_smoothing=label_smoothing, backend=backend,
    )[1]  # fmt: skip


def axe_loss_and_alignment(
    logits: Tensor,
    targets: Tensor,
    *,
    prediction_lengths: Tensor,
    target_lengths: Tensor,
    blank_id: int,
    skip_target_penalty: float = 1.0,
    observed: Tensor | None = None,
    label_smoothing: float = 0.0,
    backend: str = "auto",
) -> tuple[Tensor, Alignment]:
    _check(logits, targets, prediction_lengths, target_lengths, blank_id, skip_target_penalty, observed)
    delta = float(skip_target_penalty)
    with torch.no_grad():
        wide = logits if logits.dtype == torch.float64 else logits.float()
        log_norm = wide.logsumexp(-1)  # (B m)
        token, blank = _costs(wide, log_norm, targets, blank_id, observed)
        align = table_backend(backend, logits.device)
        prediction_of_target, operator, total = align(token, blank, target_lengths, prediction_lengths, delta)
        alignment = Alignment(
            prediction_of_target,
            operator,
            _skipped(prediction_of_target, operator, prediction_lengths, logits.shape[1]),
            total,
        )
        weights = _target_weights(alignment, delta, observed)
        smoothed = _smoothed(prediction_lengths, observed, logits.shape[1])
    loss: Tensor = _WeightedCost.apply(  # type: ignore[no-untyped-call]
        logits, log_norm, targets, prediction_of_target, weights, alignment.skipped_prediction, blank_id,
        label_smoothing, smoothed,
    )  # fmt: skip
    return loss, alignment


def _costs(
    logits: Tensor, log_norm: Tensor, targets: Tensor, blank_id: int, observed: Tensor | None
) -> tuple[Tensor, Tensor]:
    """-log P_j(Y_i) as (B n m) and -log P_j(blank) as (B m)."""
    B, m, _ = logits.shape
    chosen = logits.gather(2, targets[:, None, :].expand(B, m, targets.shape[1]))
    token = (log_norm[:, :, None] - chosen).transpose(1, 2)
    if observed is not None:
        # Section 3.3: P_i(Y_i) = 1 for every observed token.
        token = token.masked_fill(torch.diag_embed(observed), 0.0)
    return token, log_norm - logits[:, :, blank_id]


def _skipped(prediction_of_target: Tensor, operator: Tensor, prediction_lengths: Tensor, m: int) -> Tensor:
    B = len(operator)
    taken = torch.zeros(B, m + 1, dtype=torch.bool, device=operator.device)
    slot = prediction_of_target.masked_fill(operator != Op.ALIGN, m)
    taken.scatter_(1, slot, True)
    inside = torch.arange(m, device=operator.device) < prediction_lengths[:, None]
    return inside & ~taken[:, :m]


def _target_weights(alignment: Alignment, delta: float, observed: Tensor | None) -> Tensor:
    weights = (alignment.operator == Op.ALIGN) + delta * (alignment.operator == Op.SKIP_TARGET)
    if observed is not None:
        position = torch.arange(observed.shape[1], device=observed.device)
        weights = weights.masked_fill(observed & (alignment.prediction_of_target == position), 0.0)
    return weights


def _smoothed(prediction_lengths: Tensor, observed: Tensor | None, m: int) -> Tensor:
    """Label smoothing acts once per predicted position, and observed ones are not predicted."""
    inside = torch.arange(m, device=prediction_lengths.device) < prediction_lengths[:, None]
    return inside if observed is None else inside & ~observed


class _WeightedCost(torch.autograd.Function):
    """(1 - e) * (sum of W * costs) + e * (mean over v of -log P_j(v), summed over j); one pass back."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, log_norm: Tensor, targets: Tensor, prediction_of_target: Tensor, weights: Tensor,
        skipped: Tensor, blank_id: int, smoothing: float, smoothed: Tensor,
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(logits, log_norm, targets, prediction_of_target, weights, skipped, smoothed)
        ctx.blank_id, ctx.smoothing = blank_id, smoothing
        weights, skips = weights.to(log_norm.dtype), skipped.to(log_norm.dtype)
        sentences = torch.arange(len(logits), device=logits.device)[:, None]
        chosen = logits[sentences, prediction_of_target, targets].to(log_norm.dtype)
        # What the path does not use may cost infinity, which times zero would be nan.
        on_targets = (weights * (log_norm.gather(1, prediction_of_target) - chosen)).masked_fill(weights == 0, 0.0)
        on_blanks = (skips * (log_norm - logits[:, :, blank_id].to(log_norm.dtype))).masked_fill(~skipped, 0.0)
        loss = on_targets.sum(1) + on_blanks.sum(1)
        if smoothing:
            uniform = log_norm - logits.mean(-1, dtype=log_norm.dtype)
            loss = (1 - smoothing) * loss + smoothing * (uniform * smoothed).sum(1)
        return loss

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Any, ...]:
        logits, log_norm, targets, prediction_of_target, weights, skipped, smoothed = ctx.saved_tensors
        outer = upstream[0].to(log_norm.dtype)[:, None]  # (B 1)
        weights = outer * (1 - ctx.smoothing) * weights.to(log_norm.dtype)
        skips = outer * (1 - ctx.smoothing) * skipped.to(log_norm.dtype)
        smooth = outer * ctx.smoothing * smoothed.to(log_norm.dtype)
        column = (skips + smooth).scatter_add(1, prediction_of_target, weights)  # (B m)
        gradient = (logits.to(log_norm.dtype) - log_norm[:, :, None]).exp_().mul_(column[:, :, None])
        if ctx.smoothing:
            gradient.sub_(smooth[:, :, None] / logits.shape[-1])
        gradient[:, :, ctx.blank_id] -= skips
        sentences = torch.arange(len(logits), device=logits.device)[:, None].expand_as(targets)
        gradient.index_put_((sentences, prediction_of_target, targets), -weights, accumulate=True)
        return gradient.to(logits.dtype), *([None] * 8)


def _check(
    logits: Tensor, targets: Tensor, prediction_lengths: Tensor, target_lengths: Tensor, blank_id: int,
    skip_target_penalty: float, observed: Tensor | None,
) -> None:  # fmt: skip
    B, m, V = logits.shape
    n = targets.shape[1]
    if not skip_target_penalty >= 1:  # nan too
        raise ValueError(f"skip_target_penalty must be >= 1, got {skip_target_penalty}")
    if not 0 <= blank_id < V:
        raise ValueError(f"blank_id must be a token of the vocabulary (0 to {V - 1}), got {blank_id}")
    if observed is not None and m != n:
        raise ValueError(f"observed needs as many predictions as targets, got {m} and {n}")
    if B and (int(prediction_lengths.max()) > m or int(target_lengths.max()) > n):
        raise ValueError(f"lengths go beyond the tensors, which hold {m} predictions and {n} targets")
    if bool(((prediction_lengths < 1) & (target_lengths > 0)).any()):
        raise ValueError("a sentence with targets needs at least one prediction")
