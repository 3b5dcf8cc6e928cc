"""config/README.md tells of every key, of its true default, and of no key that does not exist."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from axenat import config, corpus_config
from axenat.preflight.asked import in_words
from axenat.resources import OF_TEACHERS, SIZES, STAGES, Ask
from axenat.study import STUDY_KEYS
from axenat.systems.registry import SYSTEMS, all_engines

README = Path(__file__).parents[1] / "config" / "README.md"
HEADING = re.compile(r"#+ .*\(`(\w+)`\)")
RECORDS = {
    name: kind
    for module in (config, corpus_config)
    for name, kind in vars(module).items()
    if dataclasses.is_dataclass(kind) and getattr(kind, "__module__", None) == module.__name__
} | {"Ask": Ask}
# One table for the settings of all systems.
SETTINGS = {name: {item.name: item for item in dataclasses.fields(one.settings)} for name, one in SYSTEMS.items()}


def documented() -> dict[str, dict[str, list[str]]]:
    """For each record that a heading names, its keys with the other cells of their rows."""
    tables: dict[str, dict[str, list[str]]] = {}
    table: dict[str, list[str]] = {}
    for line in README.read_text(encoding="utf-8").splitlines():
        if heading := HEADING.fullmatch(line):
            table = tables[heading[1]] = {}
        elif line.startswith("| `"):
            key, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            assert key not in table, f"{key} is explained twice"
            table[key.strip("`")] = cells
    return tables


def expected_default(item: "dataclasses.Field[Any]") -> Any:
    if item.default is not dataclasses.MISSING:
        return list(item.default) if isinstance(item.default, tuple) else item.default
    return "required" if item.default_factory is dataclasses.MISSING else "its defaults"


def test_every_record_has_a_section_and_no_other_has() -> None:
    assert documented().keys() == {"Study", "Settings", *RECORDS}


def test_the_sections_of_a_study_are_explained() -> None:
    assert tuple(documented()["Study"]) == STUDY_KEYS


@pytest.mark.parametrize("name", RECORDS)
def test_every_key_is_explained_in_order_and_nothing_unknown_is(name: str) -> None:
    assert list(documented()[name]) == [item.name for item in dataclasses.fields(RECORDS[name])]


@pytest.mark.parametrize("name", RECORDS)
def test_every_row_gives_meaning_unit_the_true_default_and_the_place_in_the_paper(name: str) -> None:
    rows = documented()[name]
    for item in dataclasses.fields(RECORDS[name]):
        meaning, unit, default, paper = rows[item.name]
        assert meaning and unit and paper, item.name
        assert yaml.safe_load(default.strip("`")) == expected_default(item), item.name


def test_every_key_of_a_system_is_explained_with_the_systems_that_read_it_and_its_true_default() -> None:
    rows = documented()["Settings"]
    assert set(rows) == {key for fields in SETTINGS.values() for key in fields}
    for key, (readers, meaning, unit, default, paper) in rows.items():
        fields = {name: read[key] for name, read in SETTINGS.items() if key in read}
        assert readers == ("all" if len(fields) == len(SYSTEMS) else ", ".join(f"`{name}`" for name in fields)), key
        assert meaning and unit and paper, key
        assert {expected_default(item) for item in fields.values()} == {yaml.safe_load(default.strip("`"))}, key


@pytest.mark.parametrize("name", ["Settings", *RECORDS])
def test_words_that_a_key_allows_are_spelled_as_in_the_code(name: str) -> None:
    allowed = {
        "name": tuple(SYSTEMS),
        "observe": ("some", "none"),
        "score": ("hidden", "all"),
        "smoothing": ("outside", "inside"),
        "normalise": ("tokens", "sentences"),
        "eos": ("keep", "drop"),
        "most_hidden": ("all", "all_but_one"),
        "init": ("normal", "mask_predict"),
        "target_side": config.TARGET_SIDES,
        "rank_norm": ("positions", "tokens", "sum"),
        "engine": ("auto", *all_engines()),
        "precision": {
            "TrainConfig": ("auto", "fp32", "tf32", "bf16", "fp16"),
            "DecodeConfig": ("auto", "float32", "float16", "int8"),
        }.get(name, ()),
    }
    for key, cells in documented()[name].items():
        for word in allowed.get(key, ()):
            assert f"`{word}`" in " ".join(cells[:2]), f"{key}: {word}"


def documented_sizes() -> dict[str, dict[str, str]]:
    """What each stage asks for, by size."""
    lines = README.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| Stages |"))
    end = lines.index("", start)
    (_, *sizes), _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:end])
    found: dict[str, dict[str, str]] = {size: {} for size in sizes}
    for names, *asks in rows:
        for stage in names.split(", "):
            for size, ask in zip(sizes, asks, strict=True):
                assert stage not in found[size], f"{stage} is explained twice"
                found[size][stage] = ask
    return found


def test_the_sizes_are_those_of_the_code() -> None:
    assert documented_sizes() == {
        size: {stage: in_words(asks[stage]) for stage in STAGES} for size, asks in SIZES.items()
    }


def test_what_a_teacher_decides_and_the_words_of_a_size_are_spelled_as_in_the_code() -> None:
    section = " ".join(README.read_text(encoding="utf-8").partition("(`Ask`)")[2].split())
    assert ", ".join(f"`{stage}`" for stage in OF_TEACHERS) in section
    assert all(f"`{word}`" in section for word in ("size", "teacher", *SIZES))
