"""The reproduction card of a study: where code and documentation depart from the paper, and where its runs do."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from axenat.evaluate.study_record import Record, RunRecord
from axenat.presets import PRESETS
from axenat.systems.registry import TEACHERS

MARK = "Differs from " + "the paper:"  # in two parts, or this line would be found too
SECTIONS = ("model", "objective", "train", "decode")


@dataclass(frozen=True, kw_only=True)
class Departure:
    """`before` says of what, `what` how it departs."""

    where: str
    before: str
    what: str


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A key whose value is not the paper's, and the runs that have each value."""

    key: str
    paper: str
    ours: tuple[tuple[str, tuple[str, ...]], ...]


def package_texts() -> dict[str, str]:
    """Every source file of the installed package by its place there."""
    return dict(_texts(files("axenat"), "axenat"))


def _texts(folder: Traversable, name: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        place = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _texts(entry, place)
        elif entry.name.endswith((".py", ".yaml")):
            yield place, entry.read_text(encoding="utf-8")


def departures(texts: Mapping[str, str]) -> list[Departure]:
    """All that carry the mark, in the order of the texts."""
    found = []
    for name, text in texts.items():
        if MARK in text:
            remarks = _python_remarks(text) if name.endswith(".py") else _line_remarks(text)
            for where, remark in remarks:
                before, _, what = " ".join(remark.split()).partition(MARK)
                place = f"{name}, {where}" if where else name
                found.append(Departure(where=place, before=before.strip(), what=what.strip()))
    return found


def _python_remarks(text: str) -> Iterator[tuple[str, str]]:
    """Docstrings, and comments that stand together, with the function or class they are in.

    A sentence with gaps (an f-string) is told by the tables that fill them, run by run.
    """
    scopes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    comments: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.append(token.string.lstrip("# "))
            continue
        if token.type == tokenize.NL and comments:
            continue
        remark = " ".join(comments) if comments else token.string.strip("\"' \n")
        comments = []
        if MARK in remark and not token.string.startswith(('f"', "f'")):
            inside = [node for node in scopes if node.lineno <= token.start[0] <= (node.end_lineno or 0)]
            yield (max(inside, key=lambda node: node.lineno).name.lstrip("_") if inside else ""), remark


def _line_remarks(text: str) -> Iterator[tuple[str, str]]:
    """A row of a Markdown table is about the key in its first cell; any other line stands for itself."""
    for line in text.splitlines():
        if MARK in line:
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            remark = next(cell for cell in cells if MARK in cell)
            yield (cells[0].strip("`") if len(cells) > 1 else ""), remark.lstrip("# ")


def differences(runs: Sequence[RunRecord]) -> list[Difference]:
    """The keys of the paper's presets in which runs differ from the nearer one."""
    of_run = {run.name: _from_preset(run) for run in runs if run.config}
    found = []
    for key, paper in dict.fromkeys(pair for different in of_run.values() for pair in different):
        values: dict[str, list[str]] = {}
        for run, different in of_run.items():
            if (key, paper) in different:
                values.setdefault(different[key, paper], []).append(run)
        ours = tuple((value, tuple(names)) for value, names in values.items())
        found.append(Difference(key=key, paper=paper, ours=ours))
    order = ("start_from", *SECTIONS)
    return sorted(found, key=lambda one: order.index(one.key.partition(".")[0]))


def _from_preset(run: RunRecord) -> dict[tuple[str, str], str]:
    """(Key, the paper's value): the run's. Students are of size base, teachers of either; all start at random."""
    settings = {**(run.config or {}), "decode": run.decode or {}}
    names = ("base", "large") if run.objective in TEACHERS else ("base",)
    start = settings.get("start_from")
    first = {("start_from", "random weights"): f"weights of {start}"} if start else {}
    return first | min((_compared(settings, PRESETS[name]) for name in names), key=len)


def _compared(settings: Record, preset: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    return {
        (f"{section}.{key}", _shown(value)): _shown(settings[section][key])
        for section in SECTIONS
        for key, value in preset[section].items()
        if key in (settings.get(section) or {}) and settings[section][key] != value
    }


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) >= 1000 else f"{value:g}"
    return re.sub(r"\s+", " ", str(value))
