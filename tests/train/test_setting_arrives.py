"""What a training is set to do reaches what does it: precision, compilation, workers, saving, speed, and who asks."""

import dataclasses
import json

import pytest
import torch

from axenat.files import read_lines
from axenat.model.transformer import Transformer
from axenat.train import loop, steps
from axenat.train.forward import validation_loss
from axenat.train.loop import train
from axenat.train.signals import PreemptedError
from axenat.train.slurm_job import LEAVE
from tests.reference.batches import whole_plan
from tests.train.test_loop import history, setting

NAME = "left_to_right"


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_a_validation_has_the_precision_of_the_training(tmp_path, precision) -> None:
    one = setting(tmp_path, NAME, train={"precision": precision, "steps": 3})
    train(one, "mark")
    half, full = (validation_loss(one, dtype)["loss"] for dtype in (torch.bfloat16, torch.float32))
    assert history(one)[-1]["loss"] == (half if precision == "bf16" else full)
    assert half != full


@pytest.mark.parametrize("compiled", [True, False])
def test_the_model_is_compiled_if_the_configuration_says_so(tmp_path, monkeypatch, compiled) -> None:
    calls = []
    monkeypatch.setattr(Transformer, "compile", lambda model, **how: calls.append((model, how)))
    one = setting(tmp_path, NAME, train={"compile": compiled, "steps": 1})
    train(one, "mark")
    assert calls == ([(one.model, {"dynamic": True})] if compiled else [])


def test_as_many_workers_as_are_set_prepare_the_batches(tmp_path, monkeypatch) -> None:
    seen, load = [], steps.load_batches

    def spy(corpus, plan, *, workers, pin):
        seen.append((corpus, workers))
        return load(corpus, plan, workers=0, pin=pin)

    monkeypatch.setattr(steps, "load_batches", spy)
    one = dataclasses.replace(setting(tmp_path, NAME, train={"steps": 1}), workers=3)
    train(one, "mark")
    assert seen == [(one.train, 3)]


def test_a_state_is_saved_at_each_validation_and_once_enough_time_has_passed(tmp_path, monkeypatch) -> None:
    saved, save_state, now = [], loop.save_state, 0.0
    monkeypatch.setattr(loop, "save_state", lambda *words: saved.append(words[1].step) or save_state(*words))
    update = loop.update

    def a_second_later(*words, **more):
        nonlocal now
        now += 1.0
        return update(*words, **more)

    monkeypatch.setattr(loop, "update", a_second_later)
    monkeypatch.setattr(loop.time, "monotonic", lambda: now)
    one = setting(tmp_path, NAME, train={"steps": 12, "validate_every": 6})
    train(dataclasses.replace(one, save_seconds=3.5), "mark")
    assert saved == [4, 6, 10, 12]


def test_a_file_in_the_folder_of_the_checkpoints_asks_a_training_to_leave(tmp_path, monkeypatch) -> None:
    one, update = setting(tmp_path, NAME, train={"steps": 12, "validate_every": 12}), loop.update
    monkeypatch.setattr("axenat.train.signals.LOOK_SECONDS", -1.0)

    def asked_at_the_fifth(engine, state, *words, **more):
        if state.step == 4:
            (one.folder / LEAVE).touch()
        return update(engine, state, *words, **more)

    monkeypatch.setattr(loop, "update", asked_at_the_fifth)
    with pytest.raises(PreemptedError, match="saved after step 6"):
        train(one, "mark")


def test_the_speed_of_a_line_is_that_of_the_tokens_of_its_steps(tmp_path) -> None:
    one = setting(tmp_path, NAME, train={"steps": 6, "log_every": 2, "tokens_per_step": 64, "tokens_per_batch": 64})
    train(one, "mark")
    source, target = list(one.train.source_lengths), list(one.train.target_lengths)
    plan = [batch for epoch in range(2) for batch in whole_plan(source, target, 64, seed=one.run.seed, epoch=epoch)]
    tokens = [sum(int(source[i]) + int(target[i]) for i in batch) for batch in plan]
    lines = [json.loads(line) for line in read_lines(one.folder / "speed.jsonl")]
    assert [line["step"] for line in lines] == [2, 4, 6]
    for line in lines:
        expected = sum(tokens[line["step"] - 2 : line["step"]])
        assert line["tokens_per_second"] * line["seconds"] == pytest.approx(expected)
        parts = [line[name] for name in ("data", "forward", "backward", "optimizer")]
        assert min(parts) > 0 and sum(parts) <= line["seconds"]
