"""A training that stops after any of its steps, killed or asked, ends as if nothing had happened."""

import dataclasses
import math

import pytest
import torch

from axenat.train import loop
from axenat.train.checkpoint import load_tensors
from axenat.train.loop import train
from axenat.train.setting import Setting
from axenat.train.signals import PreemptedError, Request
from tests.train.test_loop import Killed, history, kill_at, outcome, same, setting

STEPS = 7
SKIPPED = (3, 4, 6)
SECTIONS = {
    # A step is skipped before a line of the history is due, and another ends an epoch.
    "train": {"steps": STEPS, "validate_every": 3, "log_every": 2, "keep_best": 2, "most_skipped": 2},
    "model": {"dropout": 0.2},
    "seed": 5,
}


def made(folder) -> Setting:
    """Every step is saved."""
    return dataclasses.replace(setting(folder, **SECTIONS), save_seconds=-1.0)


@pytest.fixture(autouse=True)
def _some_losses_are_infinite(monkeypatch):
    seeded, loss_of, step = loop.seeded, loop.loss_of, 0

    def noted(device, *place):
        nonlocal step
        step = place[1]
        return seeded(device, *place)

    def sometimes_infinite(*arguments):
        loss = loss_of(*arguments)
        return dataclasses.replace(loss, total=loss.total * math.inf) if step in SKIPPED else loss

    monkeypatch.setattr(loop, "seeded", noted)
    monkeypatch.setattr(loop, "loss_of", sometimes_infinite)


@pytest.fixture
def uninterrupted(tmp_path) -> dict:
    one = made(tmp_path / "uninterrupted")
    found = outcome(one, train(one, "mark"))
    lines = [line for line in history(one) if line["kind"] == "train"]
    assert [line["skipped_steps"] for line in lines] == [0, 2, 1, 0]
    assert max(line["epoch"] for line in lines) == 1, "an epoch ends on the way"
    return found


def killed(monkeypatch, one: Setting, step: int, begun: int = 0) -> None:
    """The step is never made."""
    with monkeypatch.context() as patch:
        kill_at(patch, "update", step - begun)
        with pytest.raises(Killed):
            train(one, "mark")


def asked(monkeypatch, one: Setting, step: int, begun: int = 0) -> None:
    """While the step before is made, which is finished."""
    calls = 0

    def made(request: Request) -> bool:
        nonlocal calls
        calls += 1
        return calls == step - 1 - begun

    with monkeypatch.context() as patch:
        patch.setattr(Request, "made", made)
        with pytest.raises(PreemptedError, match=f"saved after step {step - 1}; run the same command again"):
            train(one, "mark")


def resumed(folder, caplog, step: int) -> dict:
    """The outcome of a second process, whatever weights it starts with."""
    two = made(folder)
    with torch.no_grad():
        for parameter in two.model.parameters():
            parameter.zero_()
    caplog.clear()
    with caplog.at_level("INFO"):
        found = outcome(two, train(two, "mark"))
    assert f"resuming after step {step - 1} of {STEPS}" in caplog.text
    return found


@pytest.mark.parametrize("stop", [killed, asked])
def test_a_training_stopped_after_any_step_ends_like_one_that_was_not(
    tmp_path, monkeypatch, caplog, uninterrupted, stop
) -> None:
    for step in range(1 if stop is killed else 2, STEPS + 1):
        folder = tmp_path / str(step)
        stop(monkeypatch, made(folder), step)
        assert same(resumed(folder, caplog, step), uninterrupted), f"stopped before step {step}"


def test_a_training_stopped_after_each_step_in_turn_ends_like_one_that_was_not(
    tmp_path, monkeypatch, caplog, uninterrupted
) -> None:
    for step in range(2, STEPS + 1):
        stop = killed if step % 2 else asked
        stop(monkeypatch, made(tmp_path), step, begun=step - 2)
    assert same(resumed(tmp_path, caplog, STEPS), uninterrupted)


def test_a_state_holds_the_weights_of_its_step(tmp_path, monkeypatch) -> None:
    one = made(tmp_path)
    train(one, "mark")
    tensors, _ = load_tensors(one.folder / f"state-{STEPS:07d}.safetensors")
    for name, weight in one.model.named_parameters():
        assert torch.equal(tensors[f"model.{name}"], weight)
