"""`axenat report`: the HTML pages of a study, from whatever the study has by now.

What a clock said, and on which host, is on a page of its own, so that the other is the same on every rerun.
"""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from axenat.evaluate.comparisons import SCORE_KEYS
from axenat.evaluate.drawing import from_file
from axenat.evaluate.report import Surroundings, render_machine, render_report
from axenat.evaluate.report_items import ShownFigure, ShownTable
from axenat.evaluate.reproduction import departures, package_texts
from axenat.evaluate.study_files import add_study_arguments, existing, failures_in, read_or_note, read_study
from axenat.evaluate.study_record import CorpusRecord
from axenat.evaluate.table_text import from_markdown
from axenat.files import UserError, read_mapping, read_record, read_text, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study_arguments(parser)
    parser.add_argument("--further", nargs="*", type=Path, default=[], help="scores beside each run's own")
    parser.add_argument("--summary", type=Path, help="summary.json of the study, for its significance tests")
    parser.add_argument("--origins", nargs="*", type=Path, default=[], help="data/{corpus}/origin.yaml of each corpus")
    parser.add_argument("--tables", nargs="*", type=Path, default=[], help="results of `axenat tables`, as Markdown")
    parser.add_argument("--figures", nargs="*", type=Path, default=[], help="results of `axenat figures`")
    parser.add_argument("--documents", nargs="*", type=Path, default=[], help="further texts that tell of departures")
    parser.add_argument("--data", type=Path, default=Path("data.dvc"), help="what pins the data (default: %(default)s)")
    parser.add_argument("--jobs", type=json.loads, default={}, help="number of jobs of each stage, as JSON")
    parser.add_argument("--logs", type=Path, help="folder of logs, of a study that is not done: what failed is told")
    parser.add_argument("--note", default="", help="a sentence for the top of the page")
    parser.add_argument("--machine", type=Path, help="HTML page to write of times, machines and software")
    parser.add_argument("--out", type=Path, required=True, help="HTML page to write")


def main(args: argparse.Namespace) -> None:
    missing: list[str] = []
    summary = (read_or_note(read_record, args.summary, missing) if args.summary else None) or {}
    further = existing(lambda path: read_record(path, *SCORE_KEYS), args.further, missing)
    study = read_study(
        args,
        note=args.note,
        comparisons=summary.get("comparisons", []),
        corpora=[
            CorpusRecord(name=path.parent.name, origin=read_or_note(read_mapping, path, missing) or {})
            for path in args.origins
        ],
        missing=missing,
        further=further,
    )
    folder = args.out.parent
    if args.machine:
        shown = existing(lambda path: _read_table(path, args.machine.parent), args.tables, [])
        write_text(args.machine, render_machine(study, shown))
    tables = existing(lambda path: _read_table(path, folder), args.tables, missing)
    figures = existing(lambda path: _read_figure(path, folder), args.figures, missing)
    around = Surroundings(
        jobs=args.jobs,
        departures=departures({**package_texts(), **_texts(args.documents, missing)}),
        data=read_or_note(read_mapping, args.data, missing) if args.data.exists() else None,
        failures=failures_in(args.logs) if args.logs else [],
        so_far=args.logs is not None,
        machine_link=_seen_from(folder, args.machine) if args.machine else "",
    )
    write_text(args.out, render_report(study, tables, figures, around))


def _read_table(path: Path, folder: Path) -> ShownTable:
    """Other forms of it lie beside it."""
    try:
        table = from_markdown(read_text(path))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    forms = {ending: path.with_suffix(f".{ending}") for ending in ("md", "csv", "tex")}
    links = {ending: _seen_from(folder, form) for ending, form in forms.items() if form.exists()}
    return ShownTable(name=path.stem, table=table, links=links)


def _read_figure(path: Path, folder: Path) -> ShownFigure:
    try:
        return ShownFigure(drawing=from_file(read_text(path)), link=_seen_from(folder, path))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _seen_from(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _texts(paths: Sequence[Path], missing: list[str]) -> dict[str, str]:
    """By folder and name alone: where a checkout lies is nobody's business."""
    found = {"/".join(path.resolve().parts[-2:]): read_or_note(read_text, path, missing) for path in paths}
    return {name: text for name, text in found.items() if text}
