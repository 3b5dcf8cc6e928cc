"""A run is looked at as it was trained: its targets, its canvas and where its smoothing acts."""

import pytest
import torch

from axenat.data.vocab import BLANK, EOS, SPECIALS, UNK
from axenat.decode.inspect import describe_alignment, generated_probabilities
from axenat.decode.translator import Translator
from axenat.files import read_yaml, write_yaml
from axenat.objectives.masking import scaled
from tests import tiny
from tests.support import decoding

SOURCES, TARGETS = ["the old man", "a car", ""], ["der alte Mann kauft", "das Auto heute", ""]


def translator(folder, **options) -> Translator:
    tiny.run_folder(folder, "axe")
    config = read_yaml(folder / "config.yaml")
    write_yaml(folder / "config.yaml", {**config, "objective": {**config["objective"], **options}})
    return Translator(folder, torch.device("cpu"))


@pytest.mark.parametrize(
    "options",
    [
        {"smoothing": "inside", "label_smoothing": 0.3, "skip_target_penalty": 2.0},
        {"smoothing": "outside", "label_smoothing": 0.3},
        {"eos": "drop"},
        {"observe": "none", "train_length_multiplier": 0.5},
        {"observe": "none", "train_length_multiplier": 1.3},
    ],
)
def test_an_alignment_adds_up_however_the_run_was_trained(tmp_path, options) -> None:
    run = translator(tmp_path / "toy", **options)
    for source, target in zip(SOURCES, TARGETS, strict=True):
        described = describe_alignment(run, source, target)
        blanks = sum(one["blank_cost"] for one in described["predictions"] if one["skipped"])
        assert sum(described["target_costs"]) + blanks == pytest.approx(described["total"], rel=1e-4)
        n = torch.tensor([len(described["targets"])])
        assert len(described["predictions"]) == scaled(n, options.get("train_length_multiplier", 1.0))


def test_a_run_without_eos_is_shown_without_but_for_the_empty_sentence(tmp_path) -> None:
    run = translator(tmp_path / "toy", eos="drop")
    for target in TARGETS:
        shown = describe_alignment(run, "a car", target)["targets"]
        assert shown == (run.target.vocab.decode(run.encode_target(target)[:-1]) or [SPECIALS[EOS]])
    assert generated_probabilities(run, "the old man").shape[0] >= 1


@pytest.mark.parametrize(("token", "shown"), [(EOS, False), (BLANK, False), (UNK, True)])
def test_figure_3_is_of_words_alone(tmp_path, token, shown) -> None:
    """An unknown word is a word; <eos> and blanks are not."""
    folder = decoding.favour(tiny.run_folder(tmp_path / "toy", "axe"), {token: 40.0})
    rows = generated_probabilities(Translator(folder, torch.device("cpu")), "the old man")
    assert (rows == rows).all() == shown and (rows == rows).any() == shown
