"""What stands together on the page: the table and the figure of each item of the paper, in its order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from axenat.evaluate.drawing import Drawing
from axenat.evaluate.table_text import PrintedTable

PLACE = re.compile(r"\(paper, ((Table|Figure) (\d+))\)")
FIGURES_AFTER = {"3": 8.5}  # the table that a figure of the paper follows
TITLES = {
    "axe_against_ce": "AXE against cross entropy",
    "target_sides": "Raw against distilled data",
    "skip_target_penalty": "Skip-target penalty",
    "length_multiplier": "Length multiplier",
    "lengths": "BLEU by target length",
    "confidence": "Position confidence",
    "repetitions": "Repetitions",
    "training": "Learning curves",
    "alignment": "Alignments drawn",
}
NUMBERS = {
    "axe_against_ce": "Table 2", "target_sides": "Table 4", "skip_target_penalty": "Table 6",
    "length_multiplier": "Table 7", "lengths": "Table 8", "confidence": "Figure 3", "repetitions": "Table 9",
}  # fmt: skip
WORDS = {
    "axe_against_ce": "The same model, data and decoding; only the loss differs.",
    "target_sides": "Distilled targets, the translations of the left-to-right teacher, have fewer alternatives.",
    "skip_target_penalty": "The higher δ, the dearer it is that two target words share a prediction, and the fewer do.",
    "length_multiplier": "An AXE model may write blanks, so it needs more room than the words it will keep: "
    "the predicted length is multiplied by λ.",
    "lengths": "The longer the sentence, the likelier it is that prediction and reference drift apart.",
    "confidence": "How probable is a generated word at its own position (0) and at the positions around it? "
    "A high, narrow peak means that the model knows where the word belongs.",
    "repetitions": "A model that hesitates between two translations tends to write the same word twice.",
}


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
class Item:
    name: str
    title: str
    place: str  # in the paper, or empty
    words: str
    table: ShownTable | None = None
    figure: ShownFigure | None = None


def items(tables: Sequence[ShownTable], figures: Sequence[ShownFigure]) -> list[Item]:
    """Items of the paper first, in its order, then the others as they come."""
    by_name = {table.name: table for table in tables}
    drawn = {figure.drawing.name: figure for figure in figures}
    found = [_item(name, by_name.get(name), drawn.get(name)) for name in dict.fromkeys((*by_name, *drawn))]
    return sorted(found, key=lambda item: _order(item.place))


def _item(name: str, table: ShownTable | None, figure: ShownFigure | None) -> Item:
    told = PLACE.search(table.table.caption) if table else None
    return Item(
        name=name,
        title=table.table.title if table else TITLES.get(name, name.replace("_", " ")),
        place=told[1] if told else NUMBERS.get(name, ""),
        words=WORDS.get(name, ""),
        table=table,
        figure=figure,
    )


def _order(place: str) -> float:
    kind, _, number = place.partition(" ")
    if not number:
        return 100.0
    return FIGURES_AFTER.get(number, 99.0) if kind == "Figure" else float(number)
