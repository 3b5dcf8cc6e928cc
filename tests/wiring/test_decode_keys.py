"""Every key of `decode` reaches the search: what it is given, how much at once, by which engine."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from axenat.config import DecodeConfig
from axenat.decode import engines
from axenat.decode.translator import Translator
from axenat.files import write_json
from axenat.records import as_plain, build
from axenat.systems.registry import SYSTEMS
from tests import tiny
from tests.support.wiring import Look, keys_of, looks_at_keys, unnoticed

CPU = torch.device("cpu")
LINES = ["the old man buys a red car .", "a woman sees .", "today", "the red car today .", "old man"]
ALL = frozenset(keys_of(DecodeConfig))
ENGINE = {"engine", "precision"}
# Small batches, and values that are no defaults and differ from each other.
BASE = {
    "beam_size": 3,
    "length_penalties": [0.6, 1.2],
    "num_length_candidates": 4,
    "length_multipliers": [1.1, 1.3],
    "rank_norm": "tokens",
    "iterations": 2,
    "precision": "float32",
    "tokens_per_batch": 100,
}


@pytest.fixture(scope="module", autouse=True)
def _folders(tmp_path_factory):
    """One of each kind, in which decode.yaml alone changes."""
    for objective in ("left_to_right", "masked"):
        FOLDERS[objective] = tiny.run_folder(tmp_path_factory.mktemp("runs") / objective, objective)
    yield
    FOLDERS.clear()


FOLDERS: dict[str, Path] = {}


def translator(objective: str, config: DecodeConfig, **more: Any) -> Translator:
    folder = FOLDERS[objective]
    values = {"run": "toy", "tuned_key": "any", **as_plain(config)}
    write_json(folder / "decode.yaml", values)  # which is YAML too
    return Translator(folder, CPU, **more)


def searched(objective: str, function: str, config: DecodeConfig, value: float | None = None) -> Any:
    """What torch's search is given, batch by batch; and the grid."""
    made, given, real = translator(objective, config), [], getattr(engines, function)

    def spy(model: Any, source: torch.Tensor, lengths: torch.Tensor, **how: Any) -> Any:
        given.append((list(source.shape), how))
        return real(model, source, lengths, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, function, spy)
        made.translate(LINES, value)
    return made.grid, made.engine.name, sorted(given, key=str)


def told(objective: str, config: DecodeConfig) -> Any:
    """What another engine makes of it: translations with their scores."""
    made = translator(objective, config)
    return made.engine.name, [(one.subwords, one.score) for one in made.translate(LINES)]


def look(name: str, see: Any, sees: frozenset[str], started: str, **tries: list[Any]) -> Look:
    return Look(name=name, kind=DecodeConfig, see=see, sees=sees, base={**BASE, "engine": started}, tries=tries)


COMMON = {"engine", "precision", "tokens_per_batch"}
STUDENT, TEACHER = (COMMON | {*SYSTEMS[name].decoding.keys} for name in ("masked", "left_to_right"))
LOOKS = [
    look(
        "student-torch", partial(searched, "masked", "parallel_decode"), STUDENT - {"precision"}, "torch",
        engine=["onnx"], precision=["auto"],
    ),
    look(
        "teacher-torch", partial(searched, "left_to_right", "beam_search"), TEACHER - {"precision"}, "torch",
        engine=["ctranslate2"], precision=["auto"],
    ),
    look(
        "student-onnx", partial(searched, "masked", "parallel_decode"), STUDENT - {"precision"}, "onnx",
        engine=["torch"], precision=["int8"],
    ),
    look(
        "student-told", partial(told, "masked"), STUDENT - {"length_multipliers", "tokens_per_batch", "engine"}, "onnx",
        engine=["auto"], precision=["int8"], rank_norm=["sum"],
    ),
    look(
        "teacher-ctranslate2", partial(told, "left_to_right"), frozenset({"beam_size", "length_penalties", *ENGINE}),
        "ctranslate2", engine=["torch"], precision=["int8"], beam_size=[1], length_penalties=[[3.0]],
    ),
]  # fmt: skip


@looks_at_keys(*LOOKS)
def test_a_key_changes_exactly_what_it_is_about(look, key) -> None:
    look.check(key)


@pytest.mark.parametrize(("kind", "read"), [("student", STUDENT), ("teacher", TEACHER)])
def test_every_key_that_a_run_reads_is_noticed_and_no_other(kind, read) -> None:
    looks = [look for look in LOOKS if look.name.startswith(kind)]
    assert unnoticed(DecodeConfig, *looks, apart=tuple(ALL - read)) == []
    assert {key for look in looks for key in look.sees} == read


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_a_students_search_is_given_each_value_under_its_own_name(engine) -> None:
    config = DecodeConfig(**{**BASE, "engine": engine})
    _, _, given = searched("masked", "parallel_decode", config, 1.7)
    own = ("num_length_candidates", "rank_norm", "iterations")
    for _, how in given:
        assert how == {**{key: BASE[key] for key in own}, "length_multiplier": 1.7, "least": 2}


def test_a_teachers_search_is_given_each_value_under_its_own_name() -> None:
    config = DecodeConfig(**{**BASE, "engine": "torch"})
    _, _, given = searched("left_to_right", "beam_search", config, 1.7)
    banned = tiny.objective("left_to_right").banned
    for _, how in given:
        assert how == {"beam_size": 3, "length_penalty": 1.7, "num_hypotheses": 1, "banned": banned}


@pytest.mark.parametrize(
    ("objective", "copies"), [("left_to_right", BASE["beam_size"]), ("masked", BASE["num_length_candidates"])]
)
def test_a_batch_with_all_its_copies_has_no_more_tokens_than_it_may(objective, copies) -> None:
    config = DecodeConfig(**{**BASE, "engine": "torch"})
    function = {"left_to_right": "beam_search", "masked": "parallel_decode"}[objective]
    shapes = [shape for shape, _ in searched(objective, function, config)[2]]
    most = BASE["tokens_per_batch"] // copies
    assert sum(rows for rows, _ in shapes) == len(LINES) and len(shapes) > 1
    assert all(rows == 1 or rows * width <= most for rows, width in shapes)


@pytest.mark.parametrize("objective", ["left_to_right", "masked"])
def test_what_is_asked_for_stands_in_for_what_the_file_says(objective) -> None:
    """The flags --decode, --engine and --precision of `translate`."""
    config = build(DecodeConfig, BASE, "base")
    name = {"left_to_right": "beam2", "masked": "ell3-t5"}[objective]
    engine = {"left_to_right": "ctranslate2", "masked": "onnx"}[objective]
    made = translator(objective, config, decoding=name, engine=engine, precision="int8")
    sizes = {"left_to_right": {"beam_size": 2}, "masked": {"num_length_candidates": 3, "iterations": 5}}[objective]
    assert made.decode == dataclasses.replace(config, engine=engine, precision="int8", **sizes)
    value = (BASE["length_penalties"] if objective == "left_to_right" else BASE["length_multipliers"])[0]
    assert made.record() == {"engine": engine, "precision": "int8", "decode": name, "value": value}


@pytest.mark.parametrize(("objective", "engine"), [("left_to_right", "ctranslate2"), ("masked", "onnx")])
def test_int8_is_not_only_recorded_but_used(objective, engine) -> None:
    exact, rounded = (DecodeConfig(engine=engine, precision=precision) for precision in ("float32", "int8"))
    assert translator(objective, rounded).record()["precision"] == "int8"
    pairs = zip(told(objective, exact)[1], told(objective, rounded)[1], strict=True)
    assert all(one[1] != other[1] for one, other in pairs)
