"""An update is the textbook's: gradients divided, clipped, and given to Adam at the rate of the step."""

import math

import pytest
import torch
from torch import nn

from axenat.config import TrainConfig
from axenat.train.optimizer import optimizer_of
from axenat.train.schedule import lr_at
from tests import tiny


def textbook(config: TrainConfig, model: nn.Module) -> torch.optim.Optimizer:
    kinds = {"decoupled": torch.optim.AdamW, "l2": torch.optim.Adam}
    betas = (config.adam_beta1, config.adam_beta2)
    return kinds[config.weight_decay_kind](
        model.parameters(), lr=0.0, betas=betas, eps=config.adam_eps, weight_decay=config.weight_decay
    )


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
@pytest.mark.parametrize("clip_norm", [0.5, 1e6])
def test_ours_is_adam_by_hand(kind, clip_norm) -> None:
    config = TrainConfig(
        peak_lr=0.01, warmup_steps=2, clip_norm=clip_norm, weight_decay=0.1, weight_decay_kind=kind, adam_beta2=0.98
    )
    ours, theirs = tiny.model(seed=1), tiny.model(seed=1)
    optimizer, adam = optimizer_of(config, ours.parameters(), torch.float32), textbook(config, theirs)
    for step, count in enumerate((7.0, 3.0, 11.0), start=1):
        optimizer.forget_gradients()
        torch.manual_seed(step)
        for one, two in zip(ours.parameters(), theirs.parameters(), strict=True):
            two.grad = torch.randn_like(two)
            (one * two.grad).sum().backward()
            two.grad = two.grad / count
        expected = nn.utils.clip_grad_norm_(theirs.parameters(), clip_norm)
        adam.param_groups[0]["lr"] = lr_at(step, peak_lr=0.01, warmup_steps=2)
        adam.step()
        norm, updated = optimizer.update(step, count, finite=True)
        assert updated and norm == pytest.approx(float(expected))
        assert (norm > clip_norm) == (clip_norm == 0.5)
    for one, two in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize(("value", "finite"), [(math.nan, True), (math.inf, True), (1.0, False)])
def test_what_is_not_finite_changes_nothing(value, finite) -> None:
    model = tiny.model()
    optimizer = optimizer_of(TrainConfig(), model.parameters(), torch.float32)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    next(model.parameters()).grad.fill_(value)
    assert optimizer.update(1, 1.0, finite=finite)[1] is False
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_moving_the_parameters_together_changes_no_value_and_keeps_ties() -> None:
    model, same = tiny.model(), tiny.model()
    optimizer_of(TrainConfig(), model.parameters(), torch.float32)
    for one, two in zip(model.parameters(), same.parameters(), strict=True):
        assert torch.equal(one, two) and one.grad is not None and not one.grad.any()
        assert one.data_ptr() % 64 == 0, "at a cache line"
    assert model.source_tokens.weight is model.target_tokens.weight
