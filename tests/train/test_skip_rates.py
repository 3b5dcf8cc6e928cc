"""Skip rates in the history are shares: of all targets, and of all predictions, which are fewer or more."""

import pytest
import torch

from axenat.data.batches import collate
from axenat.train.loop import train
from tests.reference.skips import skip_rates
from tests.train.test_by_hand import TRAIN, write_corpora
from tests.train.test_loop import history, setting


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("multiplier", [0.6, 1.6])
@pytest.mark.parametrize("delta", [1.0, 1.5])
def test_rates_on_valid_are_those_of_the_best_paths_on_a_blank_page(tmp_path, multiplier, delta) -> None:
    write_corpora(tmp_path)
    objective = {"observe": "none", "train_length_multiplier": multiplier, "skip_target_penalty": delta}
    one = setting(tmp_path, "axe", objective=objective, train={**TRAIN, "steps": 1, "log_every": 1})
    train(one, "mark")
    (line,) = (line for line in history(one) if line["kind"] == "valid")
    batches = [collate(one.valid, [i]) for i in range(len(one.valid))]
    pairs = [(batch.source[0].tolist(), batch.target[0].tolist()) for batch in batches]
    expected = skip_rates(one.model, pairs, multiplier, delta)
    assert (line["skip_target_rate"], line["skip_prediction_rate"]) == pytest.approx(expected)
    assert expected[multiplier > 1] > 0.1
