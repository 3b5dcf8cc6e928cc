"""Cells of a written table against what the records and the paper say."""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from axenat.files import read_yaml
from tests.support.evaluation_study import COLUMN, OWN, PAPER

Row = dict[str, str]


def read_csv(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def same_cells(found: Sequence[Row], expected: Sequence[Mapping[str, Any]], *keys: str) -> None:
    """Every cell of every row, rows being known by these keys."""

    def place(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple("" if row[key] is None else str(row[key]) for key in keys)

    rows = {place(row): row for row in found}
    assert len(rows) == len(found), "two rows have one name"
    assert sorted(rows) == sorted(map(place, expected))
    for row in expected:
        cells = rows[place(row)]
        assert cells.keys() == row.keys(), place(row)
        for key, value in row.items():
            where = (*place(row), key)
            if isinstance(value, float):
                assert cells[key] != "" and float(cells[key]) == pytest.approx(value, rel=1e-9), where
            else:
                assert cells[key] == ("" if value is None else str(value)), where


@cache
def paper() -> dict[str, Any]:
    found: dict[str, Any] = read_yaml(PAPER)
    return found


def published(table: str, corpus: str, key: str = "bleu", **about: Any) -> float | None:
    """The value of the paper's only row that says this, in the column that the corpus is shown beside."""
    rows = [row for row in paper()[table] if all(row.get(name) == value for name, value in about.items())]
    (row,) = rows
    value: float | None = row[key].get(COLUMN[corpus])
    return value


def less(ours: float | None, corpus: str, value: float | None) -> float | None:
    """Taken where the corpus is the paper's own."""
    return None if ours is None or value is None or corpus not in OWN else ours - value
