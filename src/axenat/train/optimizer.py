"""From gradients to new weights: Adam as in section 4.1, loss scaling, and steps that must not be made."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from axenat.config import TrainConfig
from axenat.train.schedule import lr_at

# Losses are sums over tokens, not means: a scale of 2^16, torch's default, would overflow many times before it fits.
FIRST_SCALE = 2.0**7


@dataclass(frozen=True, slots=True)
class Optimizer:
    config: TrainConfig
    parameters: list[nn.Parameter]
    adam: torch.optim.Optimizer
    scaler: torch.amp.GradScaler  # does nothing unless products run in float16

    def update(self, step: int, count: float, *, finite: bool) -> tuple[float, bool]:
        """Divide the gradients by `count`, clip, update. Returns their norm, and whether the update was made."""
        self.scaler.unscale_(self.adam)
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.grad.div_(count)
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self.config.clip_norm))
        finite = finite and math.isfinite(norm)
        if finite:
            for group in self.adam.param_groups:
                group["lr"] = lr_at(step, peak_lr=self.config.peak_lr, warmup_steps=self.config.warmup_steps)
            self.scaler.step(self.adam)
        self.scaler.update()
        return norm, finite

    @property
    def lr(self) -> float:
        return float(self.adam.param_groups[0]["lr"])


def optimizer_of(config: TrainConfig, parameters: Iterable[nn.Parameter], dtype: torch.dtype, device: str) -> Optimizer:
    kinds = {"decoupled": torch.optim.AdamW, "l2": torch.optim.Adam}
    parameters = list(parameters)
    adam = kinds[config.weight_decay_kind](
        parameters, lr=0.0, betas=(config.adam_beta1, config.adam_beta2), eps=config.adam_eps,
        weight_decay=config.weight_decay, fused=True,
    )  # fmt: skip
    scaler = torch.amp.GradScaler(device, init_scale=FIRST_SCALE, enabled=dtype == torch.float16)
    return Optimizer(config, parameters, adam, scaler)
