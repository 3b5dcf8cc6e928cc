"""The same table and trace-back compiled for the CPU."""

import numba
import numpy as np
import torch
from torch import Tensor

from axenat.losses.kernels.torch_table import ALIGN, SKIP_PREDICTION, SKIP_TARGET


def align(
    token: Tensor, blank: Tensor, target_lengths: Tensor, prediction_lengths: Tensor, delta: float
) -> tuple[Tensor, Tensor, Tensor]:
    """As `torch_table.align`, for tensors on the CPU."""
    B, n, _ = token.shape
    # The gather that makes the costs lays them out (B m n): reading them so keeps the inner loop contiguous.
    columns = token.transpose(1, 2).contiguous().numpy()
    prediction_of_target = np.zeros((B, n), dtype=np.int64)
    operator = np.full((B, n), -1, dtype=np.int8)
    total = np.zeros(B, dtype=columns.dtype)
    _align(
        columns, blank.contiguous().numpy(), target_lengths.numpy(), prediction_lengths.numpy(),
        columns.dtype.type(delta),  # in the costs' own precision, as the twin computes
               prediction_of_target, operator, total,
    )  # fmt: skip
    return torch.from_numpy(prediction_of_target), torch.from_numpy(operator), torch.from_numpy(total)


@numba.njit(cache=True, nogil=True)
def _align(token, blank, target_lengths, prediction_lengths, delta, prediction_of_target, operator, total):  # type: ignore[no-untyped-def]
    for b in range(len(total)):
        n, m = target_lengths[b], prediction_lengths[b]
        ops = np.empty((m + 1, n + 1), dtype=np.int8)
        A = np.zeros(n + 1, dtype=token.dtype)  # the current column j of the paper's A
        ops[0, :] = SKIP_TARGET
        # torch adds up the first column and row in double precision; equal bits break ties alike.
        column = row = np.float64(0.0)
        if m > 0:
            for i in range(1, n + 1):
                column += delta * token[b, 0, i - 1]
                A[i] = column
        for j in range(1, m + 1):
            diagonal = A[0]
            row += blank[b, j - 1]
            A[0] = row
            ops[j, 0] = SKIP_PREDICTION
            for i in range(1, n + 1):
                here = token[b, j - 1, i - 1]
                best, op = diagonal + here, ALIGN
                skip_prediction = A[i] + blank[b, j - 1]
                if skip_prediction < best:
                    best, op = skip_prediction, SKIP_PREDICTION
                skip_target = A[i - 1] + delta * here
                if skip_target < best:
                    best, op = skip_target, SKIP_TARGET
                diagonal, A[i] = A[i], best
                ops[j, i] = op
        total[b] = A[n]
        i, j = n, m
        while i > 0 or j > 0:
            op = ops[j, i]
            if op != SKIP_PREDICTION:
                i -= 1
                prediction_of_target[b, i] = max(j - 1, 0)
                operator[b, i] = op
            if op != SKIP_TARGET:
                j -= 1
