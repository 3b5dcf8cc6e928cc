"""A figure of a study as one file: its panels side by side in an SVG."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from axenat.evaluate.figure_style import INK, PAPER, SOFT

ROW_WIDTH = 800.0  # points; wider panels have a row of their own
GAP = 18.0
LINE, LETTERS = 18, 68  # height and length of a line of words
SIZE = re.compile(r'width="([\d.]+)(?:pt)?" height="([\d.]+)(?:pt)?"')


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Panels that belong together; `notes` say what is missing. Without panels there are only words."""

    name: str
    caption: str
    panels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def wide(self) -> bool:
        """Too wide to stand beside another one."""
        return any(_size(panel)[0] > ROW_WIDTH / 2 for panel in self.panels)


def as_panel(svg: str, name: str) -> str:
    """A drawing of matplotlib as a part of a larger one: no XML header, ids of its own."""
    body = svg[svg.index("<svg") :].rstrip()
    width, height = _size(body)
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", body)
    opening = f'<svg class="panel" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return re.sub(r"<svg[^>]*", opening, body, count=1)


def to_file(drawing: Drawing) -> str:
    """One SVG that any viewer shows, on white."""
    width, height, body = _in_rows(drawing.panels) if drawing.panels else _words(drawing)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" id="{drawing.name}"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'{head} width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">',
        f"<title>{escape(drawing.caption)}</title>",
        *(f"<desc>{escape(note)}</desc>" for note in drawing.notes),
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _size(svg: str) -> tuple[float, float]:
    found = SIZE.search(svg)
    assert found is not None, "an SVG has a size"
    return float(found[1]), float(found[2])


def _in_rows(panels: Sequence[str]) -> tuple[float, float, list[str]]:
    """From left to right, a new row where there is no more room."""
    x = y = row_height = widest = 0.0
    placed = []
    for panel in panels:
        width, height = _size(panel)
        if x and x + width > ROW_WIDTH:
            x, y, row_height = 0.0, y + row_height + GAP, 0.0
        placed.append(panel.replace('<svg class="panel"', f'<svg class="panel" x="{x:g}" y="{y:g}"', 1))
        widest, row_height, x = max(widest, x + width), max(row_height, height), x + width + GAP
    return widest, y + row_height, placed


def _words(drawing: Drawing) -> tuple[float, float, list[str]]:
    lines = [(drawing.caption, INK), *((note, SOFT) for note in drawing.notes)]
    rows = [(row, colour) for line, colour in lines for row in textwrap.wrap(line, LETTERS)]
    style = 'font-family="DejaVu Sans, sans-serif" font-size="12"'
    body = [
        f'<text x="14" y="{LINE * (place + 1.3):g}" {style} fill="{colour}">{escape(row)}</text>'
        for place, (row, colour) in enumerate(rows)
    ]
    return 540.0, LINE * (len(rows) + 1.0), body
