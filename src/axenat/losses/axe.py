"""Aligned cross entropy (section 2 of the paper): align, then score.

The costs forget the vocabulary, the table and trace-back run without gradient, and since A[n, m] is a
minimum of sums, its gradient is that of the sum along the best path (the envelope theorem).
"""

from dataclasses import dataclass
from enum import IntEnum

import torch
from torch import Tensor

from axenat.losses.checks import check_finite, check_sentences, check_shapes, check_smoothing
from axenat.losses.kernels import torch_table
from axenat.losses.kernels.choose import table_backend
from axenat.losses.rows import Rows, within
from axenat.losses.scoring import Choice, finite_means_, normalise, weighted_costs, wide

FIRST_COLUMNS = ("paper", "strict")
SMOOTHINGS = ("outside", "inside")
LARGEST = torch.finfo(torch.float32).max


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

    @classmethod
    def of_nothing(cls, B: int, n: int, m: int, like: Tensor) -> "Alignment":
        """Of sentences without targets and predictions, of which there may be none."""
        chosen, skipped = like.new_zeros(B, n, dtype=torch.int64), like.new_zeros(B, m, dtype=torch.bool)
        return cls(chosen, torch.full_like(chosen, -1, dtype=torch.int8), skipped, like.new_zeros(B))


@dataclass(frozen=True, slots=True, kw_only=True)
class AxeOptions:
    """How sentences are aligned and scored: the arguments that are numbers and names."""

    blank_id: int
    skip_target_penalty: float = 1.0  # delta, at least 1
    label_smoothing: float = 0.0
    smoothing: str = "outside"  # once per predicted position, after the alignment; inside: in every cost, before it
    first_column: str = "paper"  # as Algorithm 1 has it; strict: P_1 is aligned before it takes further targets
    backend: str = "auto"  # auto, torch, numba or triton

    def __post_init__(self) -> None:
        if not 1 <= self.skip_target_penalty <= LARGEST:  # nan too
            raise ValueError(f"skip_target_penalty must be a finite number >= 1, got {self.skip_target_penalty}")
        if self.first_column not in FIRST_COLUMNS:
            raise ValueError(f"first_column must be one of {', '.join(FIRST_COLUMNS)}, got {self.first_column!r}")
        if self.smoothing not in SMOOTHINGS:
            raise ValueError(f"smoothing must be one of {', '.join(SMOOTHINGS)}, got {self.smoothing!r}")
        check_smoothing(self.label_smoothing)


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
    smoothing: str = "outside",
    first_column: str = "paper",
    backend: str = "auto",
) -> Tensor:
    """A[n, m] for each sentence (B,), with the exact subgradient."""
    options = AxeOptions(
        blank_id=blank_id, skip_target_penalty=skip_target_penalty, label_smoothing=label_smoothing,
        smoothing=smoothing, first_column=first_column, backend=backend,
    )  # fmt: skip
    return axe_loss_and_alignment(logits, targets, prediction_lengths, target_lengths, observed, options)[0]


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
    smoothing: str = "outside",
    first_column: str = "paper",
    backend: str = "auto",
) -> Alignment:
    """The best alignment; label smoothing changes it only if it acts inside the minimum."""
    options = AxeOptions(
        blank_id=blank_id, skip_target_penalty=skip_target_penalty, label_smoothing=label_smoothing,
        smoothing=smoothing, first_column=first_column, backend=backend,
    )  # fmt: skip
    return axe_loss_and_alignment(logits.detach(), targets, prediction_lengths, target_lengths, observed, options)[1]


def axe_loss_and_alignment(
    logits: Tensor, targets: Tensor, prediction_lengths: Tensor, target_lengths: Tensor, observed: Tensor | None,
    options: AxeOptions, *, check: bool = True,
) -> tuple[Tensor, Alignment]:  # fmt: skip
    """Without `check`, no value is looked at, which spares a GPU its wait: what is not finite stays so."""
    check_shapes(logits, logits.shape[-1], targets, prediction_lengths, target_lengths, observed, options.blank_id)
    targets, prediction_lengths, target_lengths = targets.long(), prediction_lengths.long(), target_lengths.long()
    B, m, V = logits.shape
    if check:
        check_sentences(m, V, targets, prediction_lengths, target_lengths)
    if not logits.numel():
        losses = logits.sum((1, 2), dtype=wide(logits))
        return losses, Alignment.of_nothing(B, targets.shape[1], m, losses.detach())
    rows = Rows.padded(prediction_lengths, m)
    flat = logits.reshape(B * m, V)
    log_norm, mean = normalise(flat)
    if check and not bool(finite_means_(mean, flat).isfinite().all()):
        check_finite(~rows.inside | mean[rows.of].isfinite(), ("sentence", "prediction"))
        flat = logits.masked_fill(~rows.inside[:, :, None], 0.0).reshape(B * m, V)  # padding may hold anything
        log_norm, mean = normalise(flat)
        finite_means_(mean, flat)
    with torch.no_grad():
        choice, alignment = choose(
            flat, log_norm, mean, rows, targets, prediction_lengths, target_lengths, observed, options
        )
    return weighted_costs(flat, log_norm, mean, choice).view(B, m).sum(1), alignment


def choose(
    logits: Tensor,  # (N V)
    log_norm: Tensor,  # (N,)
    mean: Tensor,  # (N,)
    rows: Rows,
    targets: Tensor,
    prediction_lengths: Tensor,
    target_lengths: Tensor,
    observed: Tensor | None,
    options: AxeOptions,
) -> tuple[Choice, Alignment]:
    """Align, and say which costs the best path pays."""
    m, n, delta = rows.of.shape[1], targets.shape[1], float(options.skip_target_penalty)
    targets = targets.masked_fill(~within(target_lengths, n), options.blank_id)  # padding may hold anything
    token, blank = _costs(logits, log_norm, mean, rows, targets, observed, options)
    align = table_backend(options.backend, logits.device)
    strict = options.first_column == "strict"
    chosen, operator, total = align(token, blank, target_lengths, prediction_lengths, delta, strict)
    aligned = operator == Op.ALIGN
    skipped = rows.inside & ~_marked(chosen, aligned, m)
    weight = aligned.to(log_norm.dtype) + delta * (operator == Op.SKIP_TARGET).to(log_norm.dtype)
    predicted = rows.inside
    if observed is not None:
        own = torch.arange(n, device=targets.device)
        weight = weight.masked_fill(observed & (chosen == own), 0.0)
        predicted = predicted & ~observed
    paid_rows = torch.cat([rows.of.gather(1, chosen), rows.of], dim=1).flatten()
    paid_tokens = torch.cat([targets, torch.full_like(rows.of, options.blank_id)], dim=1).flatten()
    weights = torch.cat([weight, skipped.to(weight.dtype)], dim=1).flatten()
    smooth = torch.zeros_like(log_norm)
    if options.label_smoothing and options.smoothing == "inside":  # with every cost that is paid
        smooth.index_add_(0, paid_rows, options.label_smoothing * weights)
    elif options.label_smoothing:  # once per predicted position
        smooth.index_add_(0, rows.of.flatten(), options.label_smoothing * predicted.flatten().to(log_norm.dtype))
    choice = Choice(
        paid_rows, paid_tokens, (1 - options.label_smoothing) * weights, smooth, options.label_smoothing > 0,
        some_free=observed is not None,
    )  # fmt: skip
    return choice, Alignment(chosen, operator, skipped, total)


def _costs(
    logits: Tensor, log_norm: Tensor, mean: Tensor, rows: Rows, targets: Tensor, observed: Tensor | None,
    options: AxeOptions,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """-log P_j(Y_i) as (B n m) and -log P_j(blank) as (B m), smoothed if that acts inside."""
    token = log_norm[:, None] - logits.gather(1, targets[rows.sentence])
    blank = log_norm - logits[:, options.blank_id]
    if options.label_smoothing and options.smoothing == "inside":
        share, spread = options.label_smoothing, options.label_smoothing * (log_norm - mean)
        token, blank = (1 - share) * token + spread[:, None], (1 - share) * blank + spread
    if len(logits) != rows.of.numel():
        token, blank = token[rows.of], blank[rows.of]
    token, blank = token.view(*rows.of.shape, targets.shape[1]), blank.view(rows.of.shape)
    if observed is not None:
        # Section 3.3: P_i(Y_i) = 1 for every observed token.
        token.diagonal(dim1=1, dim2=2).masked_fill_(observed, 0.0)
    return token.transpose(1, 2), blank


def _marked(index: Tensor, where: Tensor, size: int) -> Tensor:
    """(B size), True at the indices (B n) of the places where `where` holds."""
    marked = torch.zeros(len(index), size + 1, dtype=torch.bool, device=index.device)
    return marked.scatter_(1, index.masked_fill(~where, size), True)[:, :size]
