"""The same table and trace-back compiled for the CPU, several sentences at a time."""

import threading

import numba
import numpy as np
import torch
from torch import Tensor

from axenat.losses.kernels.torch_table import ALIGN, SKIP_PREDICTION, SKIP_TARGET

# Cells worth a thread of their own. It competes with those of torch: measured on two cores, a second one costs about
# 4 ms, as much as a million cells. So batches of common size stay on one.
CELLS = 2_000_000


def align(
    token: Tensor, blank: Tensor, target_lengths: Tensor, prediction_lengths: Tensor, delta: float, strict: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """As `torch_table.align`, for tensors on the CPU."""
    B, n, m = token.shape
    # The gather that makes the costs lays them out (B m n): reading them so keeps the inner loop contiguous.
    columns = token.transpose(1, 2).contiguous().numpy()
    prediction_of_target = np.zeros((B, n), dtype=np.int64)
    operator = np.full((B, n), -1, dtype=np.int8)
    total = np.zeros(B, dtype=columns.dtype)
    arguments = (
        columns, *(tensor.contiguous().numpy() for tensor in (blank, target_lengths, prediction_lengths)),
        columns.dtype.type(delta),  # in the costs' own precision, as the twin computes
        strict, prediction_of_target, operator, total,
    )  # fmt: skip
    workers = max(1, min(B, torch.get_num_threads(), B * n * m // CELLS))
    tables = np.empty((workers, m + 1, n + 1), dtype=columns.dtype)
    # Plain threads, since numba's own pool may neither be used by two threads at once nor survive a fork.
    threads = [
        threading.Thread(target=_align, args=(tables[first], first, workers, *arguments)) for first in range(1, workers)
    ]
    for thread in threads:
        thread.start()
    _align(tables[0], 0, workers, *arguments)
    for thread in threads:
        thread.join()
    return torch.from_numpy(prediction_of_target), torch.from_numpy(operator), torch.from_numpy(total)


@numba.njit(cache=True, nogil=True)
def _align(  # type: ignore[no-untyped-def]
    A, first, step, token, blank, target_lengths, prediction_lengths, delta, strict, prediction_of_target, operator,
    total,
):  # fmt: skip
    """Every `step`th sentence from the `first` on, through one table: fresh memory is slow."""
    for b in range(first, len(total), step):
        n, m = target_lengths[b], prediction_lengths[b]
        _fill(A, token[b], blank[b], n, m, delta, strict)
        total[b] = A[m, n]
        i, j = n, m
        while i > 0 or j > 0:
            op = _operator(A, token[b], blank[b], i, j, delta)
            if op != SKIP_PREDICTION:
                i -= 1
                prediction_of_target[b, i] = max(j - 1, 0)
                operator[b, i] = op
            if op != SKIP_TARGET:
                j -= 1


@numba.njit(cache=True, nogil=True)
def _fill(A, token, blank, n, m, delta, strict):  # type: ignore[no-untyped-def]
    """The paper's A, column after column: (m + 1, n + 1)."""
    # torch adds up the first column and row in double precision; equal bits break ties alike.
    row, column = np.float64(0.0), np.float64(np.inf if strict else 0.0)
    A[0, 0] = row
    for j in range(1, m + 1):
        row += blank[j - 1]
        A[j, 0] = row
    for i in range(1, n + 1):
        if m > 0:
            column += delta * token[0, i - 1]
        A[0, i] = column
    # Each cell waits for the one above it, so four columns go together, each one cell behind the last.
    whole = m - m % 4
    for j in range(1, whole, 4):
        a, b, c, d = A[j, 0], A[j + 1, 0], A[j + 2, 0], A[j + 3, 0]
        for i in range(1, n + 1):
            above_a, above_b, above_c = a, b, c
            a = _cell(A[j - 1, i - 1], A[j - 1, i], a, token[j - 1, i - 1], blank[j - 1], delta)
            b = _cell(above_a, a, b, token[j, i - 1], blank[j], delta)
            c = _cell(above_b, b, c, token[j + 1, i - 1], blank[j + 1], delta)
            d = _cell(above_c, c, d, token[j + 2, i - 1], blank[j + 2], delta)
            A[j, i], A[j + 1, i], A[j + 2, i], A[j + 3, i] = a, b, c, d
    for j in range(whole + 1, m + 1):
        for i in range(1, n + 1):
            A[j, i] = _cell(A[j - 1, i - 1], A[j - 1, i], A[j, i - 1], token[j - 1, i - 1], blank[j - 1], delta)


@numba.njit(cache=True, nogil=True, inline="always")
def _cell(diagonal, left, above, token, blank, delta):  # type: ignore[no-untyped-def]
    align, skip_prediction, skip_target = diagonal + token, left + blank, above + delta * token
    best = skip_prediction if skip_prediction < align else align
    return skip_target if skip_target < best else best


@numba.njit(cache=True, nogil=True)
def _operator(A, token, blank, i, j, delta):  # type: ignore[no-untyped-def]
    """What led to the cell: the first of equals, as the twin has it."""
    if j == 0:
        return SKIP_TARGET
    if i == 0:
        return SKIP_PREDICTION
    here = token[j - 1, i - 1]
    best, op = A[j - 1, i - 1] + here, ALIGN
    skip_prediction = A[j - 1, i] + blank[j - 1]
    if skip_prediction < best:
        best, op = skip_prediction, SKIP_PREDICTION
    if A[j, i - 1] + delta * here < best:
        op = SKIP_TARGET
    return op
