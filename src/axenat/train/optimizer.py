"""From gradients to new weights: Adam as in section 4.1, loss scaling, and steps that must not be made.

Weights and gradients of all parameters lie side by side in one vector each, so that a step is a handful of operations
instead of hundreds: small models spend a twelfth of their time otherwise.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from axenat.config import TrainConfig
from axenat.train.schedule import lr_at

# Losses are sums over tokens, not means: a scale of 2^16, torch's default, would overflow many times before it fits.
FIRST_SCALE = 2.0**7
ALIGNED = 16  # numbers: matrix products like to start at a cache line


@dataclass(frozen=True, slots=True)
class Optimizer:
    config: TrainConfig
    weights: nn.Parameter  # of all parameters, which look into it
    adam: torch.optim.Optimizer
    scaler: torch.amp.GradScaler  # does nothing unless products run in float16

    def forget_gradients(self) -> None:
        self.adam.zero_grad(set_to_none=False)  # the parameters look into them

    def update(self, step: int, count: float, *, finite: bool) -> tuple[float, bool]:
        """Divide the gradients by `count`, clip, update. Returns their norm, and whether the update was made."""
        assert self.weights.grad is not None
        self.scaler.unscale_(self.adam)
        self.weights.grad.div_(count)
        norm = float(nn.utils.clip_grad_norm_(self.weights, self.config.clip_norm))
        finite = finite and math.isfinite(norm)
        if finite:
            for group in self.adam.param_groups:
                group["lr"] = self.lr(step)
            self.scaler.step(self.adam)
        self.scaler.update()
        return norm, finite

    def lr(self, step: int) -> float:
        return lr_at(step, peak_lr=self.config.peak_lr, warmup_steps=self.config.warmup_steps)


def optimizer_of(config: TrainConfig, parameters: Iterable[nn.Parameter], dtype: torch.dtype) -> Optimizer:
    """The parameters are moved: what they hold is from now on a part of one vector."""
    weights = _side_by_side(list(parameters))
    kinds = {"decoupled": torch.optim.AdamW, "l2": torch.optim.Adam}
    adam = kinds[config.weight_decay_kind](
        [weights], lr=0.0, betas=(config.adam_beta1, config.adam_beta2), eps=config.adam_eps,
        weight_decay=config.weight_decay, fused=True,
    )  # fmt: skip
    scaler = torch.amp.GradScaler(weights.device.type, init_scale=FIRST_SCALE, enabled=dtype == torch.float16)
    return Optimizer(config, weights, adam, scaler)


def _side_by_side(parameters: list[nn.Parameter]) -> nn.Parameter:
    starts, size = [], 0
    for parameter in parameters:
        starts.append(size)
        size += -(-parameter.numel() // ALIGNED) * ALIGNED
    vector = torch.zeros(size, device=parameters[0].device)
    weights = nn.Parameter(vector)
    weights.grad = torch.zeros_like(vector)
    for parameter, start in zip(parameters, starts, strict=True):
        part = slice(start, start + parameter.numel())
        vector[part] = parameter.detach().flatten()
        parameter.data = vector[part].view_as(parameter)
        parameter.grad = weights.grad[part].view_as(parameter)
    return weights
