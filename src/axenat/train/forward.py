"""Batches to losses: one micro-batch, and the whole of valid with fixed masks."""

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from axenat.data.batches import Batch, collate, plan_batches, to_device
from axenat.objectives.base import LossSum, Objective, Step
from axenat.train import history
from axenat.train.devices import autocast
from axenat.train.setting import Setting

VALIDATION_SEED = 7  # the same masks at each validation, or losses could not be compared


class ScoredModel(nn.Module):
    """A model and its loss as one call: ranks see one forward pass a micro-batch, however many a system makes."""

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: Batch, step: Step) -> LossSum:
        return self.objective.loss(self.model, batch, step)


def loss_of(setting: Setting, model: nn.Module, batch: Batch, step: Step, dtype: torch.dtype) -> LossSum:
    """`model` is a ScoredModel, or one of several that exchange their gradients."""
    batch = batch.to(setting.device)
    with autocast(setting.device, dtype):
        return cast(LossSum, model(batch, step))


def seeded(device: torch.device, *place: int) -> torch.Generator:
    """Dropout and masks of one micro-batch from its place (seed, step, number) alone: a resumed run draws the same."""
    dropout, masks = map(int, np.random.SeedSequence(place).generate_state(2, np.uint64))
    # torch.manual_seed would write down the call stack for devices that are not there, which takes longer than drawing.
    torch.default_generator.manual_seed(dropout)
    if device.type == "cuda":
        torch.cuda.manual_seed(dropout)
    return torch.Generator().manual_seed(masks)


def validation_loss(setting: Setting, dtype: torch.dtype = torch.float32) -> dict[str, float]:
    plan = list(
        plan_batches(
            setting.valid.source_lengths, setting.valid.target_lengths, setting.run.train.tokens_per_batch,
            seed=0, epoch=0, shuffle=False,
        )
    )  # fmt: skip
    numbers, rows = setting.ranks.mine(range(len(plan))), []
    setting.model.eval()
    model, steps = ScoredModel(setting.model, setting.objective), setting.run.train.steps
    with torch.no_grad():
        for number in numbers or [0]:
            rng = torch.Generator().manual_seed(VALIDATION_SEED * 100_003 + number)
            batch = collate(setting.valid, plan[number])
            at = Step(rng, steps, steps, validates=True)
            rows.append(loss_of(setting, model, batch, at, dtype).sums())
    table, _ = gather(setting, rows, numbers, len(plan))
    return history.averages({name: sum(column) for name, column in table.items()})


def gather(
    setting: Setting, rows: list[dict[str, Tensor]], numbers: list[int], size: int, asked: bool = False
) -> tuple[dict[str, list[float]], bool]:
    """Each sum of each batch of all ranks, in their order: adding up gives the same for any number of ranks.

    Whether a rank was asked to stop travels along.
    """
    table = torch.zeros(size * len(rows[0]) + 1, dtype=torch.float64, device=setting.device)
    view = table[1:].view(size, len(rows[0]))
    for number, row in zip(numbers, rows, strict=False):  # a rank without any has one row, which does not count
        view[number] = torch.stack([to_device(value, setting.device).double() for value in row.values()])
    table[0] = float(asked)
    stop, *values = setting.ranks.add_(table).tolist()
    width = len(rows[0])
    return {name: values[place::width] for place, name in enumerate(rows[0])}, stop > 0
