"""Every key of a study is kept as it was said, and somebody beside the study asks for it."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from axenat import layout, needs
from axenat.catalogue import CATALOGUE, PAPER_ITEMS, TABLE_NAMES
from axenat.config import PAPER_COLUMNS
from axenat.corpus_config import SPLITS
from axenat.study import STUDY_KEYS, Study, parse_study
from axenat.study_requests import records_of, table_request
from tests.studies import study
from tests.support.wiring import keys_of

ROOT = Path(__file__).parents[2]
# Of each key: another value, the field of the study that holds it, and what stands there then.
TRIES: dict[str, tuple[Any, str, Any]] = {
    "study": ("another", "name", "another"),
    "note": ("  other words\n", "note", "other words"),
    "tables": (["speed", "systems"], "tables", ("speed", "systems")),
    "published": (PAPER_COLUMNS[3], "published", PAPER_COLUMNS[3]),
    "resources": ({"size": "base"}, "resources", {"size": "base"}),
}
OF_NAMES = ("corpora", "recipes", "runs")


def test_every_key_is_tried() -> None:
    assert [key for key in STUDY_KEYS if key not in (*TRIES, *OF_NAMES)] == [], "add a value to try"


@pytest.mark.parametrize("key", TRIES)
def test_a_key_is_in_its_own_field_and_in_no_other(key) -> None:
    value, name, kept = TRIES[key]
    before, after = parse_study(study()), parse_study(study(**{key: value}))
    assert [one for one in keys_of(Study) if getattr(before, one) != getattr(after, one)] == [name]
    assert getattr(after, name) == kept


@pytest.mark.parametrize("name", [item.name for item in fields(Study)])
def test_somebody_beside_the_study_asks_for_each_field(name) -> None:
    code = [*ROOT.glob("workflow/**/*.smk"), ROOT / "workflow" / "Snakefile", *ROOT.glob("src/axenat/**/*.py")]
    said = "".join(path.read_text(encoding="utf-8") for path in code if path.name != "study.py")
    assert re.search(rf"\b(?:STUDY|study|parsed)\.{name}\b", said), f"Study.{name}: nothing asks for it"


def test_the_tables_of_a_study_are_those_that_it_names_in_its_order() -> None:
    parsed = parse_study(study(tables=["speed", "systems"]))
    assert layout.tables(parsed, "md") == ["results/speed/speed.md", "results/tables/systems.md"]
    assert layout.tables(parse_study(study()), "md") == [layout.table_file(name, "md") for name in TABLE_NAMES]
    assert PAPER_ITEMS.keys() < {*TABLE_NAMES}


@pytest.mark.parametrize("table", TABLE_NAMES)
def test_a_table_reads_records_of_its_own_runs_and_choices_alone(table) -> None:
    parsed = parse_study(study(recipes__small__decode={"also": ["ell1"]}))
    runs = needs.runs_for(parsed, table)
    found = records_of(parsed, table_request(table))
    for name, paths in found.items():
        of_runs = {path.split("/")[2] for path in paths if path.startswith("results/runs/")}
        assert of_runs <= {*runs}, f"{name} of {table}"
        assert all("/test/" in path for path in paths if "score.json" in path or "analysis.json" in path)
    assert set(found) == {"config", *CATALOGUE[table].reads}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("corpus", ["demo", "own"])
def test_every_file_of_a_split_is_of_that_split_and_corpus(corpus, split) -> None:
    parsed = parse_study(study())
    found = [function(parsed, corpus, split) for function in (layout.raw_files, layout.references, layout.accept)]
    sides = ("source", "target")
    texts = [layout.raw_text(parsed, corpus, split, side) for side in sides]
    words = [layout.words(parsed, corpus, "raw", split, side) for side in sides]
    for path in [*(path for paths in found for path in paths), *texts, *words]:
        assert f"/{corpus}/" in path and path.split("/")[-1].startswith(f"{split}.")
    assert [path.rpartition(".")[2] for path in texts] == ["en", "de"]
    assert [path.rpartition(".")[2] for path in words] == [*sides]
