"""Weights come back as they were, the best checkpoints stay, and damage is reported in one sentence."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from axenat.files import UserError, sha256_of
from axenat.train.average import average
from axenat.train.checkpoint import (
    TrainState,
    keep_if_best,
    keep_the_last,
    load_tensors,
    load_weights,
    save_tensors,
    weights_of,
)
from tests import tiny


@pytest.mark.parametrize("joint", [True, False])
def test_weights_make_a_round_trip_and_tied_ones_are_kept_once(tmp_path, joint) -> None:
    first, second = tiny.model(seed=1, joint=joint), tiny.model(seed=2, joint=joint)
    save_tensors(tmp_path / "a.safetensors", weights_of(first), {"step": "7"})
    tensors, metadata = load_tensors(tmp_path / "a.safetensors")
    assert metadata == {"step": "7"}
    assert len({tensor.data_ptr() for tensor in weights_of(first).values()}) == len(tensors)
    load_weights(second, tensors, tmp_path / "a.safetensors")
    for one, two in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, two)
    assert (second.source_tokens is second.target_tokens) is joint


@settings(max_examples=10)
@given(losses=st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 2.5, 3.0]), min_size=1, max_size=12))
def test_the_lowest_losses_are_kept_and_of_equal_ones_the_earlier(losses, tmp_path_factory) -> None:
    folder, state, model = tmp_path_factory.mktemp("best"), TrainState(), tiny.model()
    for number, loss in enumerate(losses, start=1):
        state.step = number
        keep_if_best(state, folder, model, loss, keep=5)
    keep_the_last(folder, state)
    expected = sorted((loss, number) for number, loss in enumerate(losses, start=1))[:5]
    assert [(entry["loss"], entry["step"]) for entry in state.best] == expected
    assert sorted(path.name for path in folder.iterdir()) == sorted(entry["file"] for entry in state.best)
    assert all(entry["sha256"] == sha256_of(folder / entry["file"]) for entry in state.best)


def test_the_average_is_the_mean_of_each_weight(tmp_path) -> None:
    models = [tiny.model(seed=seed) for seed in range(4)]
    paths = [tmp_path / f"{seed}.safetensors" for seed in range(4)]
    for path, model in zip(paths, models, strict=True):
        save_tensors(path, weights_of(model), {})
    for name, mean in average(paths).items():
        weights = torch.stack([weights_of(model)[name].detach().double() for model in models])
        assert mean.dtype == np.float32
        assert torch.equal(torch.from_numpy(mean), weights.mean(0).float())
    same = average([paths[0]] * 3)
    assert all(np.array_equal(same[name], value.detach().numpy()) for name, value in weights_of(models[0]).items())


@pytest.mark.parametrize("size", [0, 5, 100, 5000])
def test_a_damaged_file_is_refused_by_name(tmp_path, size) -> None:
    path = tmp_path / "model.safetensors"
    save_tensors(path, weights_of(tiny.model()), {})
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(UserError, match=r"model\.safetensors: not a readable safetensors file"):
        load_tensors(path)


def test_a_missing_file_is_refused_by_name(tmp_path) -> None:
    with pytest.raises(UserError, match=r"none\.safetensors: no such file"):
        load_tensors(tmp_path / "none.safetensors")


def test_weights_of_another_model_are_refused_in_words(tmp_path) -> None:
    tensors = dict(weights_of(tiny.model(hidden=48)))
    with pytest.raises(UserError, match=r"is \(48, 16\) instead of \(32, 16\)"):
        load_weights(tiny.model(), tensors, tmp_path / "x")
    with pytest.raises(UserError, match=r"lengths.weight is on one side only"):
        load_weights(tiny.model(predicts_length=False), dict(weights_of(tiny.model())), tmp_path / "x")
