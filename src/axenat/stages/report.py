"""`axenat report`: the HTML pages of a study, from whatever the study has by now.

What a clock said, and on which host, is on a page of its own, so that the other is the same on every rerun.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from axenat.catalogue import FIGURE_NAMES, TABLE_NAMES
from axenat.evaluate.drawing import Drawing
from axenat.evaluate.report import Surroundings, render_machine, render_report
from axenat.evaluate.report_items import ShownFigure, ShownTable
from axenat.evaluate.reproduction import departures, package_texts
from axenat.evaluate.study_files import existing, read_or_note, read_study
from axenat.evaluate.table_text import PrintedTable
from axenat.files import read_json, read_mapping, read_text, write_text
from axenat.records import build, one_of
from axenat.study_requests import StudyRequest, read_request


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--request", type=Path, required=True, help="YAML file that names all that the pages show")
    parser.add_argument("--machine", type=Path, help="HTML page to write of times, machines and software")
    parser.add_argument("--out", type=Path, required=True, help="HTML page to write")


def main(args: argparse.Namespace) -> None:
    write_pages(read_request(args.request), args.out, args.machine)


def write_pages(
    request: StudyRequest, out: Path, machine: Path | None = None, failures: Sequence[str] | None = None
) -> None:
    """Failures are told of a study that is not done."""
    missing: list[str] = []
    study = read_study(request, missing)
    if machine:
        write_text(machine, render_machine(study, _read_tables(request, machine.parent, [])))
    tables = _read_tables(request, out.parent, missing)
    figures = existing(lambda path: _read_figure(path, out.parent), request.figures, missing)
    data = Path(request.data)
    around = Surroundings(
        jobs=request.jobs,
        departures=departures({**package_texts(), **_texts(request.documents, missing)}),
        data=read_or_note(read_mapping, data, missing) if data.exists() else None,
        failures=failures or [],
        so_far=failures is not None,
        machine_link=_seen_from(out.parent, machine) if machine else "",
    )
    write_text(out, render_report(study, tables, figures, around))


def _read_tables(request: StudyRequest, folder: Path, missing: list[str]) -> list[ShownTable]:
    return existing(lambda path: _read_table(path, folder), request.tables, missing)


def _read_table(path: Path, folder: Path) -> ShownTable:
    """Other forms of it lie next to it."""
    name = path.name.removesuffix(".table.json")
    one_of(f"{path}: its name", name, TABLE_NAMES)
    table = build(PrintedTable, read_json(path), str(path))
    forms = {ending: path.with_name(f"{name}.{ending}") for ending in ("md", "csv", "tex")}
    links = {ending: _seen_from(folder, form) for ending, form in forms.items() if form.exists()}
    return ShownTable(name=name, table=table, links=links)


def _read_figure(path: Path, folder: Path) -> ShownFigure:
    drawing = build(Drawing, read_json(path), str(path))
    one_of(f"{path}: name", drawing.name, FIGURE_NAMES)
    return ShownFigure(drawing=drawing, link=_seen_from(folder, path.with_name(f"{drawing.name}.svg")))


def _seen_from(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _texts(paths: Sequence[str], missing: list[str]) -> dict[str, str]:
    """By folder and name alone: where a checkout lies is nobody's business."""
    found = {"/".join(Path(path).resolve().parts[-2:]): read_or_note(read_text, Path(path), missing) for path in paths}
    return {name: text for name, text in found.items() if text}
