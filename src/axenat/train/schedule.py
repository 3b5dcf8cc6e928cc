"""The learning rate of section 4.1: linear warm-up, then inverse square root."""

import math

START_LR = 1.0e-7


def lr_at(step: int, *, peak_lr: float, warmup_steps: int) -> float:
    """The rate of update `step`, counted from 1."""
    if step < warmup_steps:
        return START_LR + (peak_lr - START_LR) * step / warmup_steps
    return peak_lr * math.sqrt(warmup_steps / step)
