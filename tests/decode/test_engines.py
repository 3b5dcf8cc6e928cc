"""Which engine decodes, and that all of them say the same about a line, whatever stands beside it."""

import random

import pytest
import torch

from axenat.config import DecodeConfig
from axenat.decode import engines
from axenat.decode.engines import engine_of
from axenat.decode.translator import Translator
from axenat.files import UserError
from axenat.systems.registry import SYSTEMS, engines_of, settings_of
from tests import tiny

CPU = torch.device("cpu")
WORDS = ["the", "a", "old", "man", "woman", "buys", "sees", "red", "car", "today", "."]
rng = random.Random(1)
LINES = [" ".join(rng.choices(WORDS, k=rng.randint(0, 15))) for _ in range(40)]
PAIRS = [
    ("left_to_right", "torch"), ("left_to_right", "ctranslate2"),
    ("masked", "torch"), ("masked", "onnx"), ("axe", "torch"), ("axe", "onnx"),
]  # fmt: skip


def translator(tmp_path, objective: str, engine: str, **decode) -> Translator:
    return Translator(tiny.run_folder(tmp_path / "toy", objective, **decode), CPU, engine=engine)


def made(objective: str, device: torch.device = CPU, **decode):
    network = tiny.model(predicts_length=objective != "left_to_right")
    return engine_of(network, settings_of(objective), DecodeConfig(**decode), device)


@pytest.mark.parametrize(("objective", "engine"), PAIRS)
def test_batch_order_and_padding_change_no_translation(tmp_path, objective, engine) -> None:
    together = translator(tmp_path, objective, engine).best_translations(LINES, 3)
    few = translator(tmp_path, objective, engine, tokens_per_batch=60).best_translations(LINES[::-1], 3)[::-1]
    alone = translator(tmp_path, objective, engine)
    for line, one, two in zip(LINES, together, few, strict=True):
        (three,) = alone.best_translations([line], 3)
        assert [found.words for found in one] == [found.words for found in two] == [found.words for found in three]


@pytest.mark.parametrize("objective", tuple(SYSTEMS))
def test_every_engine_gives_the_same_translations(tmp_path, objective) -> None:
    names = engines_of(SYSTEMS[objective])
    one, two = (translator(tmp_path, objective, name).translate(LINES) for name in names)
    assert [found.ids for found in one] == [found.ids for found in two]
    assert [found.score for found in one] == pytest.approx([found.score for found in two], rel=1e-4)


@pytest.mark.parametrize(("objective", "fast"), [("left_to_right", "ctranslate2"), ("masked", "onnx"), ("axe", "onnx")])
def test_auto_takes_the_fast_one_where_it_is_installed_and_knows_the_device(monkeypatch, objective, fast) -> None:
    assert made(objective).name == fast
    monkeypatch.setattr(engines, "find_spec", lambda package: None)
    assert made(objective).name == "torch"
    with pytest.raises(UserError, match=rf"decode.engine {fast} needs .*; pip install .*{fast}.*, or choose torch"):
        made(objective, engine=fast)


def test_on_a_gpu_students_stay_with_torch_and_so_do_teachers_if_ctranslate2_has_no_cuda(monkeypatch) -> None:
    gpu = torch.device("cuda")
    assert engines._chosen("auto", SYSTEMS["masked"], gpu) == "torch"
    for gpus, chosen in ((0, "torch"), (1, "ctranslate2")):
        monkeypatch.setattr("ctranslate2.get_cuda_device_count", lambda gpus=gpus: gpus)
        assert engines._chosen("auto", SYSTEMS["left_to_right"], gpu) == chosen
    with pytest.raises(UserError, match="engine onnx cannot use cuda here; choose torch, or --device cpu"):
        engines._chosen("onnx", SYSTEMS["masked"], gpu)


@pytest.mark.parametrize(("objective", "engine"), [("left_to_right", "onnx"), ("axe", "ctranslate2")])
def test_an_engine_for_another_kind_of_model_is_refused(objective, engine) -> None:
    with pytest.raises(UserError, match=f"decode.engine {engine} does not decode a .* model; allowed are auto, torch,"):
        made(objective, engine=engine)


def test_torch_has_no_float16_on_a_cpu() -> None:
    with pytest.raises(UserError, match="float16: torch decodes in float32, and on a GPU also in float16"):
        made("axe", engine="torch", precision="float16")
    assert made("axe", engine="torch").precision == "float32"


@pytest.mark.parametrize(("engine", "precision"), [("torch", "int8"), ("onnx", "float16")])
def test_what_an_engine_can_do_nowhere_is_refused_by_the_configuration(engine, precision) -> None:
    with pytest.raises(
        UserError, match=f"decode.precision of engine {engine} must be one of auto, float32, .*{precision}"
    ):
        DecodeConfig(engine=engine, precision=precision)


def test_the_number_asked_for_counts_different_translations(tmp_path) -> None:
    """Candidates of an untrained model that says little else than one word are often equal."""
    one_word = translator(tmp_path, "axe", "torch", num_length_candidates=8)
    all_of_them = one_word.best_translations(LINES, 8)
    assert any(len(found) < 8 for found in all_of_them)
    for number in (1, 2, 3):
        for whole, found in zip(all_of_them, one_word.best_translations(LINES, number), strict=True):
            assert len({one.words for one in found}) == len(found)
            assert [one.words for one in found] == [one.words for one in whole][:number]
