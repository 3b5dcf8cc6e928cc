"""A run's folder translates: one line out for each line in, in order, or one sentence about what is wrong."""

import pytest
import torch

from axenat.data.vocab import BLANK, BOS, EOS, MASK, PAD, SPECIALS
from axenat.decode.inspect import describe_alignment
from axenat.decode.translator import EMPTY, Translator
from axenat.files import UserError, read_yaml, write_json, write_yaml
from axenat.systems.registry import SYSTEMS
from tests import tiny

CPU = torch.device("cpu")
LINES = [
    "The old man buys a red car today.",
    "",
    "a car",
    "   \t ",
    "the woman sees the old man .",
    "unseen wörds ☃ here",
    "a car",
]


@pytest.fixture(params=tuple(SYSTEMS))
def folder(request, tmp_path):
    return tiny.run_folder(tmp_path / "toy", request.param)


@pytest.fixture
def axe(tmp_path) -> Translator:
    return Translator(tiny.run_folder(tmp_path / "toy", "axe"), CPU)


def test_every_line_gets_one_line_in_order_and_empty_lines_stay_empty(folder) -> None:
    translator = Translator(folder, CPU)
    translations = translator.translate(LINES)
    assert len(translations) == len(LINES)
    for line, found in zip(LINES, translations, strict=True):
        assert "\n" not in found.text
        if not line.strip():
            assert found == EMPTY
        assert found == translator.translate([line])[0]._replace(score=found.score)
    assert translations[2] == translations[6]
    assert translator.translate([]) == []
    assert translator.translate(["", ""]) == [EMPTY] * 2


def test_the_token_budget_changes_nothing(folder) -> None:
    results = []
    for tokens in (1, 40, 4096):
        decode = read_yaml(folder / "decode.yaml")
        write_yaml(folder / "decode.yaml", {**decode, "tokens_per_batch": tokens})
        results.append([found.subwords for found in Translator(folder, CPU).translate(LINES)])
    assert results[0] == results[1] == results[2]


def test_inputs_and_blanks_never_reach_the_text(folder) -> None:
    hidden = {SPECIALS[i] for i in (PAD, BOS, EOS, MASK, BLANK)}
    for found in Translator(folder, CPU).translate(LINES):
        assert not hidden & set(found.subwords.split())


def test_a_line_beyond_the_models_positions_is_cut_and_still_translated(folder) -> None:
    long = " ".join(["the old man"] * 50)
    (found,) = Translator(folder, CPU).translate([long])
    assert found.score < 0


@pytest.mark.parametrize(("words", "cut"), [(22, 0), (23, 0), (24, 1), (60, 1)])
def test_only_lines_beyond_the_models_positions_count_as_cut(axe, words, cut) -> None:
    assert axe.model.max_positions == 24  # one of them for the end of the sentence
    axe.translate([" ".join(["man"] * words), "a car", ""])
    assert axe.num_cut == cut
    axe.translate(["a car"])
    assert axe.num_cut == 0


def test_the_tuned_value_is_used_unless_another_is_given(folder) -> None:
    translator = Translator(folder, CPU)
    assert translator.value == translator.grid[0]
    write_json(folder / "tuned.json", {"value": 1.25})
    tuned = Translator(folder, CPU)
    assert tuned.value == 1.25
    assert tuned.translate(LINES) == translator.translate(LINES, 1.25)


def _no_folder(folder):
    return folder / "nowhere"


def _no_weights(folder):
    (folder / "model.safetensors").unlink()
    return folder


def _damaged_weights(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    return folder


def _another_size(folder):
    config = read_yaml(folder / "config.yaml")
    config["model"]["hidden"] = 48
    write_yaml(folder / "config.yaml", config)
    return folder


def _another_depth(folder):
    config = read_yaml(folder / "config.yaml")
    config["model"]["encoder_layers"] = 2
    write_yaml(folder / "config.yaml", config)
    return folder


def _not_a_run(folder):
    write_yaml(folder / "config.yaml", {"hello": "world"})
    return folder


def _not_a_mapping(folder):
    (folder / "config.yaml").write_text("- a list\n")
    return folder


def _unknown_key(folder):
    write_yaml(folder / "decode.yaml", {**read_yaml(folder / "decode.yaml"), "beams": 3})
    return folder


def _decode_is_empty(folder):
    (folder / "decode.yaml").write_text("")
    return folder


def _weights_are_a_folder(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    return folder


def _tuned(**content):
    def damage(folder):
        write_json(folder / "tuned.json", content)
        return folder

    return damage


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (_no_folder, "nowhere: no such folder; give a run's folder"),
        (_no_weights, "model.safetensors: no such file"),
        (_damaged_weights, "model.safetensors: not a readable safetensors file"),
        (_weights_are_a_folder, "model.safetensors: is a folder, expected a safetensors file"),
        (_tuned(), "tuned.json: value is missing"),
        (_tuned(value=-1), r"tuned.json: value must be from 0.5 to 100.0, got -1; tune the run again"),
        (_tuned(value=1e9), r"tuned.json: value must be from 0.5 to 100.0, got 1000000000.0"),
        (_tuned(value="1.1"), r"tuned.json: value must be from 0.5 to 100.0, got '1.1'"),
        (_tuned(value=float("nan")), r"tuned.json: value must be from 0.5 to 100.0, got nan"),
        (_tuned(value=True), r"tuned.json: value must be from 0.5 to 100.0, got True"),
        (_another_size, r"does not fit the model of config.yaml: .* is \(32, 16\) instead of \(48, 16\)"),
        (_another_depth, r"does not fit the model of config.yaml: encoder.1.* is on one side only"),
        (_not_a_run, "config.yaml: run is missing; is this the config.yaml of a run"),
        (_not_a_mapping, "config.yaml: expected keys and values"),
        (_unknown_key, "beams is not a known key"),
        (_decode_is_empty, "decode.yaml: expected keys and values"),
    ],
)
def test_a_folder_that_is_no_whole_run_is_refused_in_one_sentence(tmp_path, damage, sentence) -> None:
    folder = damage(tiny.run_folder(tmp_path / "toy", "axe"))
    with pytest.raises(UserError, match=sentence) as caught:
        Translator(folder, CPU)
    assert "\n" not in str(caught.value)


def test_an_alignment_tells_of_every_target_and_prediction_and_adds_up(axe) -> None:
    described = describe_alignment(axe, "the old man", "der alte Mann kauft")
    assert described["targets"][-1] == SPECIALS[EOS]
    n = len(described["targets"])
    for key in ("prediction_of_target", "operators", "target_costs", "predictions"):
        assert len(described[key]) == n
    blanks = sum(one["blank_cost"] for one in described["predictions"] if one["skipped"])
    assert sum(described["target_costs"]) + blanks == pytest.approx(described["total"], rel=1e-4)
    for prediction in described["predictions"]:
        shares = [p for _, p in prediction["top"]]
        assert shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-6
