"""An update waits for the device at the places listed here, once at each, however many micro-batches it has.

Lines of the history, validations and saved states wait as well. They are rare.
"""

import dataclasses
import importlib
from pathlib import Path

import pytest
import torch

from axenat.data.batches import collate
from axenat.systems.registry import SYSTEMS
from axenat.train import loop
from axenat.train.checkpoint import TrainState
from axenat.train.forward import ScoredModel, validation_loss
from axenat.train.optimizer import optimizer_of
from axenat.train.setting import Setting
from axenat.train.steps import Update
from axenat.train.stopwatch import Stopwatch
from tests.support.rehearsal import rehearsal
from tests.train.test_loop import setting

# The places in the order in which an update comes to them, with the reason.
WAITS = {
    "forward.gather": "the gradient is divided by the count of all micro-batches; without a finite sum, no update",
    "optimizer.update": "without a finite norm of the gradient, no update; the history shows the norm",
}
META = torch.device("meta")


@pytest.fixture
def on_meta(monkeypatch):
    """A setting on the meta device, where torch would refuse its fused optimizer for no reason but the name."""
    fused = importlib.import_module("torch.optim.optimizer")
    monkeypatch.setattr(fused, "_get_fused_kernels_supported_devices", lambda: ["meta"])

    def make(tmp_path: Path, name: str) -> Setting:
        one = setting(tmp_path, name, model={"dropout": 0.3})
        return dataclasses.replace(one, device=META, model=one.model.to(META))

    return make


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("number", [1, 3])
def test_an_update_waits_where_it_is_listed_and_nowhere_else(tmp_path, on_meta, name, number) -> None:
    one = on_meta(tmp_path, name)
    optimizer = optimizer_of(one.run.train, one.model.parameters(), torch.float32)
    engine = loop.Engine(one, "mark", ScoredModel(one.model, one.objective), optimizer, torch.float32, Stopwatch(META))
    indices = [list(range(start, start + 3)) for start in range(number)]
    step = Update(indices, list(range(number)), [collate(one.train, some) for some in indices], False)
    state = TrainState()
    with rehearsal() as waits:
        loop.update(engine, state, step)
    assert state.window["updates"] == 1
    assert waits == list(WAITS)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_validation_waits_once(tmp_path, on_meta, name) -> None:
    one = on_meta(tmp_path, name)
    with rehearsal() as waits:
        validation_loss(one)
    assert waits == ["forward.gather"]
