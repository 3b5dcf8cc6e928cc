"""The same table and trace-back on a GPU: one program per sentence, and the host never waits.

The program walks over the anti-diagonals as the twin does. Diagonal d holds the cells (i, d - i); kept as a row of
its own, it is read and written without strides, and what a cell needs stands in the two rows before.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from axenat.losses.kernels import torch_table

ALIGN = tl.constexpr(torch_table.ALIGN)
SKIP_PREDICTION = tl.constexpr(torch_table.SKIP_PREDICTION)
SKIP_TARGET = tl.constexpr(torch_table.SKIP_TARGET)


def align(
    token: Tensor, blank: Tensor, target_lengths: Tensor, prediction_lengths: Tensor, delta: float, strict: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """As `torch_table.align`."""
    B, n, m = token.shape
    device = token.device
    prediction_of_target = torch.zeros(B, n, dtype=torch.int64, device=device)
    operator = torch.full((B, n), -1, dtype=torch.int8, device=device)
    total = torch.empty(B, dtype=token.dtype, device=device)
    # Filled by the kernel before they are read: (diagonal, i) for each sentence.
    A = torch.empty(B, n + m + 1, n + 1, dtype=token.dtype, device=device)
    ops = torch.empty(B, n + m + 1, n + 1, dtype=torch.int8, device=device)
    costs_and_lengths = (tensor.contiguous() for tensor in (token, blank, target_lengths, prediction_lengths))
    if B:
        _align[(B,)](
            *costs_and_lengths, prediction_of_target, operator, total,
            A, ops, torch.full((), delta, dtype=token.dtype, device=device), n, m, strict,
            CELLS=triton.next_power_of_2(n + 1), enable_fp_fusion=False,  # a fused product would round unlike the twin
        )  # fmt: skip
    return prediction_of_target, operator, total


@triton.jit  # type: ignore[untyped-decorator]
def _align(  # type: ignore[no-untyped-def]
    token, blank, target_lengths, prediction_lengths, prediction_of_target, operator, total, A, ops, delta,
    most_targets, most_predictions, strict, CELLS: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n, m = tl.load(target_lengths + b).to(tl.int32), tl.load(prediction_lengths + b).to(tl.int32)
    width = most_targets + 1
    table = b * (most_targets + most_predictions + 1) * width
    token += b * most_targets * most_predictions
    blank += b * most_predictions
    _fill(token, blank, A + table, ops + table, n, m, tl.load(delta), strict, most_predictions, width, CELLS)
    tl.store(total + b, tl.load(A + table + (n + m) * width + n))
    _trace_back(ops + table, prediction_of_target + b * most_targets, operator + b * most_targets, n, m, width)


@triton.jit  # type: ignore[untyped-decorator]
def _fill(token, blank, A, ops, n, m, delta, strict, most_predictions, width, CELLS: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.arange(0, CELLS)
    # The first row and column are added up in double precision as the twin's are; equal bits break ties alike.
    row = tl.full((), 0.0, tl.float64)
    column = tl.full((), 0.0, tl.float64)
    if strict:
        column += float("inf")
    for diagonal in range(0, n + m + 1):
        j = diagonal - i
        inner = (i >= 1) & (i <= n) & (j >= 1) & (j <= m)
        here = tl.load(token + (i - 1) * most_predictions + j - 1, mask=inner, other=0.0)
        skipped = tl.load(blank + j - 1, mask=inner, other=0.0)
        last = A + (diagonal - 1) * width + i
        best = tl.load(last - width - 1, mask=inner, other=0.0) + here
        op = tl.full((CELLS,), ALIGN, tl.int8)
        skip_prediction = tl.load(last, mask=inner, other=0.0) + skipped
        op = tl.where(skip_prediction < best, SKIP_PREDICTION, op)
        best = tl.where(skip_prediction < best, skip_prediction, best)
        skip_target = tl.load(last - 1, mask=inner, other=0.0) + delta * here
        op = tl.where(skip_target < best, SKIP_TARGET, op)
        best = tl.where(skip_target < best, skip_target, best)
        row += tl.load(blank + diagonal - 1, mask=(diagonal >= 1) & (diagonal <= m), other=0.0)
        on_first = tl.load(token + (diagonal - 1) * most_predictions, mask=(diagonal >= 1) & (diagonal <= n), other=0.0)
        column += delta * on_first
        best = tl.where(i == 0, row.to(best.dtype), tl.where(j == 0, column.to(best.dtype), best))
        op = tl.where(i == 0, SKIP_PREDICTION, tl.where(j == 0, SKIP_TARGET, op))
        cells = (i <= n) & (j >= 0) & (j <= m)
        tl.store(last + width, best, mask=cells)
        tl.store(ops + diagonal * width + i, op.to(tl.int8), mask=cells)
        tl.debug_barrier()  # the next diagonal reads what other threads wrote


@triton.jit
def _trace_back(ops, prediction_of_target, operator, n, m, width):  # type: ignore[no-untyped-def]
    while n + m > 0:
        op = tl.load(ops + (n + m) * width + n)
        takes_target = op != SKIP_PREDICTION
        tl.store(prediction_of_target + n - 1, tl.maximum(m - 1, 0).to(tl.int64), mask=takes_target)
        tl.store(operator + n - 1, op, mask=takes_target)
        n -= takes_target.to(tl.int32)
        m -= (op != SKIP_TARGET).to(tl.int32)
