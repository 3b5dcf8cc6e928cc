"""A table as text: rounded Markdown for people, full precision CSV for programs."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axenat.evaluate.tables import NOTHING
from axenat.records import ConfigError

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
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    title: str = ""  # that of the catalogue


@dataclass(frozen=True, kw_only=True)
class PrintedTable:
    """A table as people read it, in Markdown, in LaTeX and on the page: every cell a text."""

    title: str
    caption: str
    labels: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.labels) for row in (self.numeric, *self.rows)):
            raise ConfigError(f"each row must have {len(self.labels)} cells, one for each of labels")


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


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
