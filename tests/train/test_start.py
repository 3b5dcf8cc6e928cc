"""A training may start from the weights of another run: all of them, but for a length head that it lacks."""

import json

import pytest
import torch

from axenat.files import UserError
from axenat.train.checkpoint import save_tensors, weights_of
from axenat.train.start import start_from
from tests import tiny


@pytest.mark.parametrize("has_lengths", [True, False])
def test_every_weight_is_the_other_runs_and_a_length_head_that_it_lacks_stays(tmp_path, has_lengths) -> None:
    other, model = tiny.model(seed=2, predicts_length=has_lengths), tiny.model(seed=3)
    before = model.lengths.weight.detach().clone()
    save_tensors(tmp_path / "model.safetensors", weights_of(other), {})
    start_from(model, tmp_path / "model.safetensors", tmp_path)
    for name, weight in other.named_parameters():
        assert torch.equal(weights_of(model)[name], weight), name
    assert torch.equal(model.lengths.weight, before) is not has_lengths


def test_a_left_to_right_model_may_start_from_one_with_a_length_head(tmp_path) -> None:
    other, model = tiny.model(seed=2), tiny.model(seed=3, predicts_length=False)
    save_tensors(tmp_path / "model.safetensors", weights_of(other), {})
    start_from(model, tmp_path / "model.safetensors", tmp_path)
    assert all(torch.equal(weight, weights_of(other)[name]) for name, weight in model.named_parameters())


def test_any_other_weight_that_is_missing_is_no_start(tmp_path) -> None:
    weights = weights_of(tiny.model(seed=2))
    del weights["source_positions.weight"]
    save_tensors(tmp_path / "model.safetensors", weights, {})
    with pytest.raises(UserError, match=r"source_positions\.weight is on one side only"):
        start_from(tiny.model(), tmp_path / "model.safetensors", tmp_path)


def test_weights_made_with_other_subwords_are_no_start(tmp_path) -> None:
    folder = tiny.subwords_folder(tmp_path / "subwords")
    origin = {"steps": [1], "sha256": {"vocab.source": "0" * 64}}
    save_tensors(tmp_path / "model.safetensors", weights_of(tiny.model(seed=2)), {"origin": json.dumps(origin)})
    model = tiny.model()
    with pytest.raises(UserError, match=r"vocab\.source is not the file that model\.safetensors was made with"):
        start_from(model, tmp_path / "model.safetensors", folder)
    assert torch.equal(model.output_matrix, tiny.model().output_matrix)
