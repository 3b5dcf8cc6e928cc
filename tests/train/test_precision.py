"""Half the bits, compiled, or with less memory: it is still the same training."""

import dataclasses
import shutil

import pytest
import torch

from axenat.train import optimizer as optimizers
from axenat.train.devices import precision_of
from axenat.train.loop import train
from tests.train.test_loop import history, outcome, same, setting

STEPS = {"steps": 40, "tokens_per_step": 256, "tokens_per_batch": 256, "peak_lr": 0.02, "validate_every": 20}


def losses(tmp_path, folder: str, model: dict | None = None, **changes) -> list[float]:
    one = setting(tmp_path, folder=folder, train={**STEPS, **changes}, model=model or {})
    train(one, "mark")
    return [line["loss"] for line in history(one) if line["kind"] == "valid"]


@pytest.mark.parametrize("precision", ["bf16", "fp16", "tf32"])
def test_lower_precision_learns_alike(tmp_path, precision) -> None:
    full, lower = losses(tmp_path, "full"), losses(tmp_path, "lower", precision=precision)
    assert lower == pytest.approx(full, rel=0 if precision == "tf32" else 0.05)
    assert (lower == full) == (precision == "tf32"), "a CPU has no TF32; the others differ in their bits"


def test_weights_and_losses_keep_32_bits(tmp_path) -> None:
    one = setting(tmp_path, train={**STEPS, "precision": "bf16"})
    train(one, "mark")
    assert {parameter.dtype for parameter in one.model.parameters()} == {torch.float32}


def test_a_scale_that_is_too_large_costs_steps_and_no_more(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(optimizers, "FIRST_SCALE", 2.0**24)
    one = setting(tmp_path, train={**STEPS, "precision": "fp16", "most_skipped": 30, "log_every": 40})
    train(one, "mark")
    lines = history(one)
    skipped = next(line["skipped_steps"] for line in lines if line["kind"] == "train")
    assert 0 < skipped < 25
    valid = [line["loss"] for line in lines if line["kind"] == "valid"]
    assert valid[-1] < valid[0]


def test_an_interrupted_training_in_float16_keeps_its_scale(tmp_path, monkeypatch) -> None:
    """Its growth is counted in steps, which are part of the state."""
    changes = {"train": {**STEPS, "precision": "fp16"}, "model": {"dropout": 0.1}}
    whole = setting(tmp_path, folder="whole", **changes)
    expected = outcome(whole, train(whole, "mark"))
    first = setting(tmp_path, **changes)
    first = dataclasses.replace(
        first, run=dataclasses.replace(first.run, train=dataclasses.replace(first.run.train, steps=20))
    )
    train(first, "mark")
    second = setting(tmp_path, **changes)
    assert same(outcome(second, train(second, "mark")), expected)


@pytest.mark.parametrize("name", ["masked", "axe"])
def test_recomputed_activations_change_no_bit(tmp_path, name) -> None:
    plain, again = (
        setting(tmp_path, name, folder=str(recompute), train=STEPS, model={"dropout": 0.2, "recompute": recompute})
        for recompute in (False, True)
    )
    assert same(outcome(plain, train(plain, "mark")), outcome(again, train(again, "mark")))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
def test_a_compiled_model_learns_alike(tmp_path) -> None:
    """One layer of each kind, since the compiler takes its time with every layer again."""
    steps, model = {"steps": 6, "validate_every": 3}, {"decoder_layers": 1}
    plain, compiled = (losses(tmp_path, str(how), model, compile=how, **steps) for how in (False, True))
    assert compiled == pytest.approx(plain, rel=1e-4)


def test_auto_is_full_precision_on_a_cpu() -> None:
    cpu = torch.device("cpu")
    assert precision_of("auto", cpu) == precision_of("fp32", cpu) == precision_of("tf32", cpu) == torch.float32
