"""What goes wrong on the way is told, and stops the training only if it must."""

import dataclasses
import json
import math

import pytest
import torch

from axenat.files import UserError, read_lines
from axenat.train import loop
from axenat.train.checkpoint import keep_the_last
from axenat.train.loop import train
from axenat.train.schedule import lr_at
from axenat.train.setting import Setting
from tests.train.test_loop import Killed, history, kill_at, setting


def test_a_diverging_training_gives_up_after_so_many_steps_and_says_where(tmp_path, caplog) -> None:
    one = setting(tmp_path, train={"most_skipped": 2})
    with torch.no_grad():
        one.model.target_tokens.weight.fill_(float("inf"))
    before = [parameter.detach().clone() for parameter in one.model.parameters()]
    words = (
        r"training diverged at step 3: the loss is not finite, 3 steps in a row \(now with sentences \d+, .*train\.safe"
    )
    with pytest.raises(UserError, match=words):
        train(one, "mark")
    assert [f"step {n} skipped" in caplog.text for n in (1, 2, 3)] == [True, True, False]
    for parameter, old in zip(one.model.parameters(), before, strict=True):
        assert torch.equal(parameter, old), "a step that is skipped changes nothing"


def killed(monkeypatch, one: Setting, at: int, mark: str = "mark") -> None:
    """Trained up to a step that is never made."""
    with monkeypatch.context() as patch:
        kill_at(patch, "update", at)
        with pytest.raises(Killed):
            train(one, mark)


def infinite_at(monkeypatch, *bad: int) -> None:
    """The losses of these calls are infinite."""
    original, calls = loop.loss_of, 0

    def sometimes_infinite(*arguments):
        nonlocal calls
        calls += 1
        loss = original(*arguments)
        return dataclasses.replace(loss, total=loss.total * math.inf) if calls in bad else loss

    monkeypatch.setattr(loop, "loss_of", sometimes_infinite)


def test_one_bad_step_now_and_then_is_skipped_and_counted(tmp_path, monkeypatch) -> None:
    """Micro-batches 11 and 15 belong to different steps, which are not neighbours."""
    one = setting(tmp_path, train={"log_every": 4, "most_skipped": 1})
    infinite_at(monkeypatch, 11, 15)
    train(one, "mark")
    lines = [line for line in history(one) if line["kind"] == "train"]
    assert [line["skipped_steps"] for line in lines] == [0, 1, 1]
    assert all(math.isfinite(line["loss"]) and math.isfinite(line["grad_norm"]) for line in lines)


def test_a_skipped_step_has_no_part_in_the_averages_of_its_line(tmp_path, monkeypatch) -> None:
    """With one step of two skipped, the line tells of the other, as a line of its own does."""
    lines = {}
    for log_every in (1, 2):
        one = setting(tmp_path, folder=str(log_every), train={"log_every": log_every, "steps": 6})
        with monkeypatch.context() as patch:
            infinite_at(patch, 5)
            train(one, "mark")
        lines[log_every] = {line["step"]: line for line in history(one) if line["kind"] == "train"}
    skipped = [step for step, line in lines[1].items() if line["skipped_steps"]]
    assert skipped == [3] and lines[1][3].keys() == {"kind", "step", "epoch", "lr", "skipped_steps"}
    expected = {**lines[1][4], "skipped_steps": 1}
    assert lines[2][4] == expected


@pytest.mark.parametrize("most_skipped", [0, 1, 3])
def test_as_many_steps_in_a_row_may_be_skipped_as_the_configuration_says(tmp_path, monkeypatch, most_skipped) -> None:
    """From the fifth on, every step is bad."""
    bad = range(5, 9)
    sections = {"train": {"most_skipped": most_skipped, "steps": 8, "validate_every": 3, "tokens_per_batch": 64}}
    infinite_at(monkeypatch, *bad)
    with pytest.raises(UserError, match=rf"diverged at step {5 + most_skipped}: .*, {most_skipped + 1} steps in a row"):
        train(setting(tmp_path, **sections), "mark")


def test_the_history_tells_the_rate_of_each_step_even_of_one_that_is_skipped(tmp_path, monkeypatch) -> None:
    one = setting(tmp_path, train={"log_every": 1})
    infinite_at(monkeypatch, 1, 11)
    train(one, "mark")
    config = one.run.train
    for line in history(one):
        if line["kind"] == "train":
            expected = lr_at(line["step"], peak_lr=config.peak_lr, warmup_steps=config.warmup_steps)
            assert line["lr"] == expected


def test_a_validation_that_is_not_finite_is_never_among_the_best(tmp_path, monkeypatch) -> None:
    one = setting(tmp_path, train={"validate_every": 2, "keep_best": 2})
    original, calls = loop.validation_loss, 0

    def sometimes_nan(*arguments):
        nonlocal calls
        calls += 1
        return {**original(*arguments), **({"loss": math.nan} if calls == 2 else {})}

    monkeypatch.setattr(loop, "validation_loss", sometimes_nan)
    state = train(one, "mark")
    losses = {line["step"]: line["loss"] for line in history(one) if line["kind"] == "valid"}
    assert losses.pop(4) is None, "JSON knows no nan"
    assert [entry["step"] for entry in state.best] == sorted(losses, key=losses.__getitem__)[:2]
    monkeypatch.setattr(loop, "validation_loss", lambda *_: {"loss": math.nan})
    with pytest.raises(UserError, match="no validation had a finite loss"):
        train(setting(tmp_path, folder="never"), "mark")


def test_best_checkpoints_that_are_gone_or_damaged_are_told_and_left_out(tmp_path, monkeypatch, caplog) -> None:
    sections = {"train": {"validate_every": 3, "keep_best": 9}}
    killed(monkeypatch, setting(tmp_path, **sections), at=10)
    one = setting(tmp_path, **sections)
    (one.folder / "step-0000003.safetensors").unlink()
    (one.folder / "step-0000006.safetensors").write_bytes(b"rubbish")
    state = train(one, "mark")
    assert sorted(entry["step"] for entry in state.best) == [9, 12]
    assert caplog.text.count("is missing or damaged; it no longer counts among the best") == 2


@pytest.mark.parametrize("rubbish", [b"rubbish\n", b"\0\0\n", b"\xff\n", b'{"step": 1'])
def test_rubbish_among_the_speeds_stops_nobody(tmp_path, monkeypatch, rubbish) -> None:
    sections = {"train": {"validate_every": 3, "log_every": 1}}
    killed(monkeypatch, setting(tmp_path, **sections), at=8)
    one = setting(tmp_path, **sections)
    with (one.folder / "speed.jsonl").open("ab") as stream:
        stream.write(rubbish)
    train(one, "mark")
    assert [json.loads(line)["step"] for line in read_lines(one.folder / "speed.jsonl")] == list(range(1, 13))


def test_an_unfinished_training_of_another_configuration_is_set_aside(tmp_path, monkeypatch, caplog) -> None:
    killed(monkeypatch, setting(tmp_path, train={"validate_every": 3}), at=8, mark="old")
    before = {path.name for path in (tmp_path / "checkpoints").iterdir()}
    one = setting(tmp_path)
    killed(monkeypatch, one, at=2, mark="new")
    assert {path.name for path in (one.folder / "previous").iterdir()} == before
    assert "6 steps done, is set aside in" in caplog.text
    keep_the_last(one.folder, train(one, "new"))
    assert not (one.folder / "previous").exists(), "once the new one is finished, nobody needs it"
