"""What stands together on the page: the table and the figure of each item of the catalogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from axenat.catalogue import CATALOGUE
from axenat.evaluate.drawing import Drawing
from axenat.evaluate.table_text import PrintedTable


@dataclass(frozen=True, kw_only=True)
class ShownTable:
    name: str
    table: PrintedTable
    links: Mapping[str, str] = field(default_factory=dict)  # other forms of it, seen from the page


@dataclass(frozen=True, kw_only=True)
class ShownFigure:
    drawing: Drawing
    link: str = ""  # the file, seen from the page


@dataclass(frozen=True, kw_only=True)
class ShownItem:
    name: str
    title: str
    place: str  # in the paper, or empty
    words: str
    table: ShownTable | None = None
    figure: ShownFigure | None = None


def items(tables: Sequence[ShownTable], figures: Sequence[ShownFigure]) -> list[ShownItem]:
    """Items of the paper first, in its order, then the others as they come."""
    by_name = {table.name: table for table in tables}
    drawn = {figure.drawing.name: figure for figure in figures}
    found = [shown_item(name, by_name.get(name), drawn.get(name)) for name in dict.fromkeys((*by_name, *drawn))]
    order = {name: number for number, (name, item) in enumerate(CATALOGUE.items()) if item.place}
    return sorted(found, key=lambda item: order.get(item.name, len(CATALOGUE)))


def shown_item(name: str, table: ShownTable | None = None, figure: ShownFigure | None = None) -> ShownItem:
    item = CATALOGUE[name]
    return ShownItem(name=name, title=item.title, place=item.place, words=item.words, table=table, figure=figure)
