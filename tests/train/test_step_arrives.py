"""A system is told where the training is, in one call for each micro-batch, whatever it does there."""

import dataclasses
from typing import Any

import pytest
import torch

from axenat.data.batches import collate
from axenat.objectives.base import Step
from axenat.systems.registry import SYSTEMS
from axenat.train import loop
from axenat.train.checkpoint import TrainState
from axenat.train.forward import ScoredModel, validation_loss
from axenat.train.optimizer import optimizer_of
from axenat.train.setting import Setting
from axenat.train.steps import Update
from axenat.train.stopwatch import Stopwatch
from tests.train.test_loop import CPU, setting

SENTENCES = [range(6), range(6, 12), range(12, 20)]


class Several(torch.nn.Module):
    """What ranks put around a module: it sees calls, and nothing of what is inside."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module, self.calls = module, 0

    def forward(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.module(*arguments)


def told(one: Setting) -> list[Step]:
    """The steps that the system's loss is given."""
    found, loss = [], one.objective.loss

    def spy(model, batch, step):
        assert isinstance(model, type(one.model)), "a system sees its own network, whatever is around it"
        found.append(step)
        return loss(model, batch, step)

    one.objective.loss = spy
    return found


def update(one: Setting, step: int) -> Several:
    model = Several(ScoredModel(one.model, one.objective))
    optimizer = optimizer_of(one.run.train, one.model.parameters(), torch.float32)
    engine = loop.Engine(one, "mark", model, optimizer, torch.float32, Stopwatch(CPU))
    batches = [collate(one.train, list(indices)) for indices in SENTENCES]
    loop.update(engine, TrainState(step=step - 1), Update(SENTENCES, [0, 1, 2], batches, False))
    return model


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_step_knows_its_number_and_how_many_there_will_be(tmp_path, name) -> None:
    one = setting(tmp_path, name, train={"steps": 9})
    steps = told(one)
    assert update(one, 7).calls == len(SENTENCES), "one call a micro-batch"
    assert [(step.number, step.total, step.validates) for step in steps] == [(7, 9, False)] * 3
    assert len({step.rng.initial_seed() for step in steps}) == 3


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_validation_stands_at_the_end_of_all_schedules(tmp_path, name) -> None:
    one = setting(tmp_path, name, train={"steps": 9})
    steps = told(one)
    validation_loss(one)
    assert steps and {(step.number, step.total, step.validates) for step in steps} == {(9, 9, True)}


def test_the_weights_have_the_names_that_they_have_without_a_loss(tmp_path) -> None:
    """Checkpoints hold the model alone: what trains it leaves no trace in them."""
    one = setting(tmp_path, "axe")
    names = [name.removeprefix("model.") for name, _ in ScoredModel(one.model, one.objective).named_parameters()]
    assert names == [name for name, _ in one.model.named_parameters()]
    assert {item.name for item in dataclasses.fields(Step)} == {"rng", "number", "total", "validates"}
