"""One look for all figures: colour-blind safe, the same bytes each time, at home in a light or dark page."""

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from axenat.files import atomic, write_text
from axenat.systems.registry import SYSTEMS

# Neutral colours change with the page (see `for_page`), the others are legible on white and on near black.
INK, SOFT, GRID, PAPER = "#24292f", "#6b7280", "#dde1e6", "#fefefe"
BLUE, RED, GREEN, AMBER, PURPLE, SKY, BROWN = (
    "#2f7fc1",
    "#d6502b",
    "#1a9a76",
    "#c98a00",
    "#b56aa2",
    "#4fb3e0",
    "#8f6b4a",
)
# What systems call their colours.
PALETTE = {
    "blue": BLUE,
    "red": RED,
    "green": GREEN,
    "amber": AMBER,
    "purple": PURPLE,
    "sky": SKY,
    "brown": BROWN,
    "soft": SOFT,
}
PAGE_COLOURS = {INK: "var(--ink)", SOFT: "var(--soft)", GRID: "var(--grid)", PAPER: "var(--paper)"}

STYLE: Any = {
    # DejaVu Sans comes with matplotlib and is wider than what browsers put in its place: text always fits.
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.parse_math": False,  # a dollar sign in a sentence is a dollar sign
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 3.2,  # long enough to tell dashes from a line
    "lines.linewidth": 1.9,
    "lines.markersize": 5,
    "hatch.linewidth": 0.7,
    "figure.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "axenat",
}


def family_of(objective: str) -> tuple[str, ...]:
    """Runs of one system have colours of one family in all figures. The first is the system's own."""
    return tuple(PALETTE[name] for name in SYSTEMS[objective].colours) if objective in SYSTEMS else (SOFT,)


def colour_of(objective: str) -> str:
    return family_of(objective)[0]


def colours_of(objectives: Mapping[str, str]) -> dict[str, str]:
    """A colour for each run, given the objective of each."""
    colours: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for run, objective in objectives.items():
        family = family_of(objective)
        colours[run] = family[seen[objective] % len(family)]
        seen[objective] += 1
    return colours


@contextmanager
def house_style() -> Iterator[None]:
    with matplotlib.rc_context(STYLE):
        yield


def new_figure(width: float = 5.4, height: float = 3.5) -> Figure:
    """A panel that fills half of a wide page or the whole of a telephone, still readable there."""
    return Figure(figsize=(width, height), layout="constrained")


def to_svg(figure: Figure) -> str:
    """Deterministic SVG text: salted ids, no date, no version."""
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"[ \t]+\n", "\n", buffer.getvalue().decode("utf-8"))


def save_picture(path: Path, figure: Figure) -> None:
    """In the format that the name ends in."""
    kind = path.suffix[1:].lower()
    if kind == "svg":
        write_text(path, to_svg(figure))
        return
    with atomic(path, "wb") as stream, house_style():
        figure.savefig(stream, format=kind, dpi=160)


def for_page(panel: str, label: str) -> str:
    """The same drawing in the body of a page: described in words, neutral colours of the page."""
    for fixed, of_page in PAGE_COLOURS.items():
        panel = panel.replace(fixed, of_page)
    escaped = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return panel.replace("<svg", f'<svg role="img" aria-label="{escaped}"', 1)
