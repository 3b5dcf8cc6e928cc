"""Every key of `analysis` changes what `axenat analyse` writes, in the part of it that the key is about."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axenat.corpus_config import AnalysisConfig
from axenat.files import write_lines, write_yaml
from axenat.records import as_plain
from tests import tiny
from tests.support.wiring import Look, looks_at_keys, unnoticed
from tests.support.wiring_corpus import run

# Whole words of the tiny vocabulary: as many target tokens as words, and <eos> apart.
LENGTHS = (1, 2, 3, 5, 6, 8, 9)
BASE = {"length_bounds": [1, 3, 6], "short_below": 3, "long_above": 5}
PLACE: dict[str, Path] = {}


@pytest.fixture(scope="module", autouse=True)
def _house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analysis")
    tiny.run_folder(folder / "run", "masked")
    write_lines(folder / "source", [" ".join(["man"] * length) for length in LENGTHS])
    write_lines(folder / "reference", [" ".join(["Mann", "Auto"] * length)[: 5 * length - 1] for length in LENGTHS])
    write_lines(folder / "hypothesis", ["der Mann sieht das Auto heute ."] * len(LENGTHS))
    PLACE["folder"] = folder
    yield
    PLACE.clear()


def written(config: AnalysisConfig) -> dict[str, Any]:
    folder = PLACE["folder"]
    write_yaml(folder / "analysis.yaml", as_plain(config))
    flags = {"source": folder / "source", "references": folder / "reference", "hypothesis": folder / "hypothesis"}
    flags |= {"config": folder / "analysis.yaml", "model": folder / "run", "out": folder / "out.json", "threads": 1}
    assert run("analyse", split="test", device="cpu", **flags) == 0
    return json.loads((folder / "out.json").read_text(encoding="utf-8"))


def part(name: str) -> Callable[[AnalysisConfig], Any]:
    def see(config: AnalysisConfig) -> Any:
        found = written(config)
        return found["buckets"] if name == "buckets" else found["confidence"][name]

    return see


LOOKS = [
    Look(name=name, kind=AnalysisConfig, see=part(name), sees=frozenset({key}), base=BASE, tries={"long_above": [8]})
    for name, key in (("buckets", "length_bounds"), ("short", "short_below"), ("long", "long_above"))
]


@looks_at_keys(*LOOKS)
def test_a_key_changes_exactly_what_it_is_about(look, key) -> None:
    look.check(key)


def test_every_key_is_noticed() -> None:
    assert unnoticed(AnalysisConfig, *LOOKS) == []
