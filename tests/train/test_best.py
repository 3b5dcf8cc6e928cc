"""The checkpoints that a training keeps are those of its lowest validation losses, at every moment."""

import json

import pytest
import torch

from axenat.train import loop
from axenat.train.checkpoint import load_tensors
from axenat.train.forward import validation_loss
from axenat.train.loop import train
from tests.reference.training import averages, sums_and_gradients
from tests.train.test_loop import history, setting

# Of each validation; what the other losses say leads to other checkpoints.
LOSSES = [3.0, 1.5, 2.0, 2.5, 1.0, 2.0]
SECTIONS = {"train": {"steps": 6, "validate_every": 1, "keep_best": 3}}


def validated_as(monkeypatch, losses: list[float]) -> None:
    left = iter(losses)

    def validation(*arguments):
        loss = next(left)
        return {"loss": loss, "token_loss": 9.0 - loss, "length_loss": abs(loss - 2.0)}

    monkeypatch.setattr(loop, "validation_loss", validation)


def test_best_are_the_lowest_losses_first_and_of_equal_ones_the_earlier(tmp_path, monkeypatch) -> None:
    validated_as(monkeypatch, LOSSES)
    state = train(setting(tmp_path, **SECTIONS), "mark")
    assert [(entry["step"], entry["loss"]) for entry in state.best] == [(5, 1.0), (2, 1.5), (3, 2.0)]


def test_while_it_runs_a_training_keeps_no_more_than_the_best_so_far(tmp_path, monkeypatch) -> None:
    """One that a state names stays as long as that state."""
    one, seen, save_state = setting(tmp_path, **SECTIONS), [], loop.save_state

    def spy(folder, state, *arguments):
        save_state(folder, state, *arguments)
        names = {int(path.stem.split("-")[1]) for path in folder.glob("step-*.safetensors")}
        seen.append(([entry["step"] for entry in state.best], names))

    monkeypatch.setattr(loop, "save_state", spy)
    validated_as(monkeypatch, LOSSES)
    train(one, "mark")
    before: list[int] = []
    for number, (best, files) in enumerate(seen, start=1):
        assert best == sorted(range(1, number + 1), key=lambda step: (LOSSES[step - 1], step))[:3]
        assert files == {*best, *before}
        before = best


def test_a_kept_checkpoint_holds_the_weights_that_were_validated(tmp_path, monkeypatch) -> None:
    one, weights = setting(tmp_path, **SECTIONS), {}

    def spy(seen, dtype):
        weights[len(weights) + 1] = {name: value.detach().clone() for name, value in seen.model.named_parameters()}
        return validation_loss(seen, dtype)

    monkeypatch.setattr(loop, "validation_loss", spy)
    state = train(one, "mark")
    assert len(state.best) == 3
    for entry in state.best:
        tensors, metadata = load_tensors(one.folder / entry["file"])
        assert metadata == {"step": str(entry["step"])}
        assert tensors.keys() == weights[entry["step"]].keys()
        assert all(torch.equal(tensor, weights[entry["step"]][name]) for name, tensor in tensors.items())


@pytest.mark.parametrize("name", ["left_to_right", "axe"])
def test_a_validation_is_of_the_valid_sentences_without_dropout(tmp_path, name) -> None:
    one = setting(tmp_path, name, objective={"observe": "none"}, model={"dropout": 0.4})
    found = validation_loss(one)
    one.model.eval()
    sums, _ = sums_and_gradients(one.model, one.objective, one.valid, [[i] for i in range(len(one.valid))])
    assert found == pytest.approx(averages([sums]), rel=1e-5)


def test_the_validations_of_a_training_are_of_the_weights_after_their_steps(tmp_path, monkeypatch) -> None:
    """Also right after a step with dropout."""
    one = setting(tmp_path, objective={"observe": "none"}, model={"dropout": 0.4}, train={"validate_every": 5})
    expected, append = [], loop.history.append

    def spy(folder, state, line):
        if line["kind"] == "valid":
            expected.append(validation_loss(one))
        append(folder, state, line)

    monkeypatch.setattr(loop.history, "append", spy)
    train(one, "mark")
    found = [line for line in history(one) if line["kind"] == "valid"]
    assert [line["step"] for line in found] == [5, 10, 12]
    assert [{name: line[name] for name in expected[0]} for line in found] == json.loads(json.dumps(expected))
