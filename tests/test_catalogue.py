"""One row for each table and figure: complete, true to the paper, and drawn by a function that exists."""

import subprocess
import sys

import pytest

from axenat.catalogue import CATALOGUE, FIGURE_NAMES, PAPER_ITEMS, TABLE_NAMES, TIMED, load
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.study_tables import table_of
from axenat.study import parse_study
from axenat.study_requests import figure_request, records_of, table_request
from tests.studies import study

DRAWN = [item.table for item in CATALOGUE.values() if item.table]
DRAWN += [item.figure.draw for item in CATALOGUE.values() if item.figure]
# As a reader of the paper meets them; Figure 3 stands in the text between two tables.
OF_THE_PAPER = (
    "Table 2", "Table 3", "Table 4", "Table 5", "Table 6", "Table 7", "Table 8", "Figure 3", "Table 9"
)  # fmt: skip


@pytest.mark.parametrize("reference", DRAWN)
def test_each_item_is_drawn_by_a_function_that_exists(reference: str) -> None:
    assert callable(load(reference)) and load(reference).__name__ == reference.partition(":")[2]


def test_two_items_are_never_drawn_by_one_function() -> None:
    assert len(set(DRAWN)) == len(DRAWN)


def test_the_items_of_the_paper_are_there_once_each_in_its_order_and_come_first() -> None:
    places = [item.place for item in CATALOGUE.values()]
    assert tuple(places[: len(OF_THE_PAPER)]) == OF_THE_PAPER and not any(places[len(OF_THE_PAPER) :])
    targets = [place.lower().replace(" ", "") for place in OF_THE_PAPER]
    assert list(PAPER_ITEMS.values()) == targets and set(PAPER_ITEMS) <= set(TABLE_NAMES)


def test_every_item_has_a_title_and_is_a_table_or_a_figure() -> None:
    assert set(TABLE_NAMES) | set(FIGURE_NAMES) == set(CATALOGUE)
    titles = [item.title for item in CATALOGUE.values()]
    assert all(titles) and len(set(titles)) == len(titles)
    for item in CATALOGUE.values():
        sentences = [item.words] if item.words else []
        sentences += [item.figure.caption, item.figure.otherwise] if item.figure else []
        assert all(sentence.endswith((".", "?")) for sentence in sentences), item.title


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_the_heading_of_a_table_is_the_title_of_its_row(name: str) -> None:
    assert table_of(name, StudyRecord(name="new")).title == CATALOGUE[name].title


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_records_that_an_item_reads_are_known(name: str) -> None:
    parsed = parse_study(study())
    item = CATALOGUE[name]
    requests = [table_request(name)] if item.table else []
    requests += [figure_request(name)] if item.figure else []
    for request in requests:
        found = records_of(parsed, request)
        assert list(found) == ["config", *item.reads]
        # Not every run has a grid or further decodings. All else is there in a study of any runs.
        assert all(found[kind] for kind in item.reads if kind not in ("choices", "further"))


def test_an_item_that_reads_what_a_clock_said_is_timed() -> None:
    assert set(TIMED) == {name for name, item in CATALOGUE.items() if "speed" in item.reads}


def test_nothing_that_draws_is_imported_with_the_catalogue() -> None:
    code = "import sys, axenat.catalogue; print(*[name for name in sys.modules if name.startswith('axenat.evaluate')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
