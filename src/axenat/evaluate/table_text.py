"""A table as text: rounded Markdown for people, full precision CSV for programs, and Markdown read back."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axenat.evaluate.tables import NOTHING

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Column:
    """What people read under a label, and the keys of a row that programs read in its place."""

    label: str
    keys: tuple[str, ...]
    show: Callable[[Row], str]
    numeric: bool = True


@dataclass(frozen=True, kw_only=True)
class Table:
    title: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class PrintedTable:
    """A table as it stands in Markdown: every cell a text."""

    title: str
    caption: str
    labels: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def text(label: str, *keys: str) -> Column:
    """Several keys are told one after the other."""

    def show(row: Row) -> str:
        return ", ".join(str(row[key]) for key in keys if row[key] is not None) or NOTHING

    return Column(label=label, keys=keys, show=show, numeric=False)


def number(label: str, key: str, style: str) -> Column:
    return Column(label=label, keys=(key,), show=lambda row: NOTHING if row[key] is None else format(row[key], style))


def interval(label: str, low: str, high: str) -> Column:
    def show(row: Row) -> str:
        return NOTHING if row[low] is None or row[high] is None else f"[{row[low]:.2f}, {row[high]:.2f}]"

    return Column(label=label, keys=(low, high), show=show)


def mark(label: str, key: str) -> Column:
    return Column(label=label, keys=(key,), show=lambda row: "✓" if row[key] else "", numeric=False)


def printed(table: Table) -> PrintedTable:
    return PrintedTable(
        title=table.title,
        caption=table.caption,
        labels=tuple(column.label for column in table.columns),
        numeric=tuple(column.numeric for column in table.columns),
        rows=tuple(tuple(column.show(row) for column in table.columns) for row in table.rows),
        notes=tuple(table.notes),
    )


def to_csv(table: Table) -> str:
    keys = [key for column in table.columns for key in column.keys]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(keys)
    writer.writerows([row[key] for key in keys] for row in table.rows)
    return stream.getvalue()


def to_markdown(table: PrintedTable) -> str:
    rule = "|" + "|".join("--:" if numeric else ":--" for numeric in table.numeric) + "|"
    lines = [_line(table.labels), rule, *map(_line, table.rows)]
    parts = [f"# {table.title}", table.caption, "\n".join(lines)]
    if table.notes:
        parts.append("\n".join(f"- {note}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


def from_markdown(markdown: str) -> PrintedTable:
    """Undo `to_markdown`, so that a page can show the very table that stands in the file."""
    lines = [line for line in markdown.splitlines() if line]
    grid = [line for line in lines if line.startswith("|")]
    if len(lines) < 4 or len(grid) < 2 or not lines[0].startswith("# "):
        raise ValueError("not a table: a title, a caption, a line of labels and a rule are expected")
    return PrintedTable(
        title=lines[0].removeprefix("# "),
        caption=lines[1],
        labels=_cells(grid[0]),
        numeric=tuple(cell.endswith(":") for cell in _cells(grid[1])),
        rows=tuple(map(_cells, grid[2:])),
        notes=tuple(line.removeprefix("- ") for line in lines[2 + len(grid) :]),
    )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _cells(line: str) -> tuple[str, ...]:
    cells = re.split(r"(?<!\\)\|", line)[1:-1]
    return tuple(cell.strip().replace(r"\|", "|") for cell in cells)
