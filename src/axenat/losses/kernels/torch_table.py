"""The readable twin: Algorithm 1 over anti-diagonals (section 2, Efficient Implementation), on any device."""

import torch
from torch import Tensor

ALIGN, SKIP_PREDICTION, SKIP_TARGET = 0, 1, 2


def align(
    token: Tensor, blank: Tensor, target_lengths: Tensor, prediction_lengths: Tensor, delta: float, strict: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Costs (B n m) and (B m) to, for each target, its prediction and operator, and the total A[n, m].

    Algorithm 1 lets the first prediction take targets before it is aligned itself; `strict` forbids it.
    """
    A, ops = _table(token, blank, delta, strict)
    sentences = torch.arange(len(A), device=A.device)
    total = A[sentences, target_lengths, prediction_lengths]
    prediction_of_target, operator = _trace_back(ops, target_lengths, prediction_lengths)
    return prediction_of_target, operator, total


def _table(token: Tensor, blank: Tensor, delta: float, strict: bool) -> tuple[Tensor, Tensor]:
    B, n, m = token.shape
    A = token.new_zeros(B, n + 1, m + 1)
    ops = torch.full((B, n + 1, m + 1), SKIP_PREDICTION, dtype=torch.int8, device=token.device)
    if n and m:
        A[:, 1:, 0] = torch.inf if strict else (delta * token[:, :, 0]).cumsum(1)
    ops[:, :, 0] = SKIP_TARGET
    A[:, 0, 1:] = blank.cumsum(1)
    for diagonal in range(2, n + m + 1):
        i = torch.arange(max(1, diagonal - m), min(n, diagonal - 1) + 1, device=token.device)
        j = diagonal - i
        here, skipped = token[:, i - 1, j - 1], blank[:, j - 1]
        candidates = (
            A[:, i - 1, j - 1] + here,  # align
            A[:, i, j - 1] + skipped,  # skip prediction
            A[:, i - 1, j] + delta * here,  # skip target
        )
        best, operator = torch.stack(candidates).min(0)  # the first of equals: ties are deterministic
        A[:, i, j], ops[:, i, j] = best, operator.to(torch.int8)
    return A, ops


def _trace_back(ops: Tensor, target_lengths: Tensor, prediction_lengths: Tensor) -> tuple[Tensor, Tensor]:
    B, n, m = ops.shape[0], ops.shape[1] - 1, ops.shape[2] - 1
    sentences = torch.arange(B, device=ops.device)
    i, j = target_lengths.clone(), prediction_lengths.clone()
    prediction_of_target = torch.zeros(B, n + 1, dtype=torch.int64, device=ops.device)
    operator = torch.full((B, n + 1), -1, dtype=torch.int8, device=ops.device)
    for _ in range(n + m):
        op = ops[sentences, i, j]
        takes_target = (op != SKIP_PREDICTION) & (i > 0)
        takes_prediction = (op != SKIP_TARGET) & (j > 0)
        # The last slot is a spare one for sentences that take no target now.
        slot = torch.where(takes_target, i - 1, n)
        # In the first column the paper skips targets on P_1.
        prediction_of_target[sentences, slot] = (j - 1).clamp(min=0)
        operator[sentences, slot] = op
        i, j = i - takes_target.long(), j - takes_prediction.long()
    return prediction_of_target[:, :n], operator[:, :n]
