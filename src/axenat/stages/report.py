"""`axenat report`: the HTML page of a study and its figures, from whatever the study has by now."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from axenat.evaluate.report import render_report
from axenat.evaluate.report_figures import draw_all
from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.evaluate.table_text import PrintedTable, from_markdown
from axenat.files import UserError, iter_lines, read_mapping, read_record, read_text, write_text
from axenat.layout import outputs_in


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--summary", required=True, help="summary.json of the study")
    parser.add_argument("--runs", nargs="*", default=[], help="folders of the runs")
    parser.add_argument("--choices", nargs="*", default=[], help="results of `axenat choose`")
    parser.add_argument("--tables", nargs="*", default=[], help="results of `axenat tables`, as Markdown")
    parser.add_argument("--study-name", required=True)
    parser.add_argument("--note", default="", help="a sentence for the top of the page")
    parser.add_argument("--out", required=True, help="HTML page to write")
    parser.add_argument("--figures", required=True, help="folder to write the figures to")


def main(args: argparse.Namespace) -> None:
    missing: list[str] = []
    summary = _read_or_note(read_record, Path(args.summary), missing) or {}
    choices = [_read_or_note(read_record, Path(path), missing) for path in args.choices]
    tables = [_read_or_note(_read_table, Path(path), missing) for path in args.tables]
    study = StudyRecord(
        name=args.study_name,
        note=args.note,
        scores=summary.get("scores", []),
        decodings=summary.get("decodings", []),
        comparisons=summary.get("comparisons", []),
        runs=[_read_run(Path(folder), missing) for folder in args.runs],
        choices=[choice for choice in choices if choice],
        missing=missing,
    )
    drawings = draw_all(study)
    for drawing in (drawing for section in drawings.values() for drawing in section):
        write_text(Path(args.figures) / f"{drawing.name}.svg", drawing.svg)
    write_text(args.out, render_report(study, drawings, [table for table in tables if table]))


def _read_run(folder: Path, missing: list[str]) -> RunRecord:
    analyses = [_read_or_note(read_record, path, missing) for path in outputs_in(folder, "analysis.json")]
    made = folder / "provenance.json"  # a run that DVC restored has none; the page says so in its place
    if not analyses:
        missing.append(f"{folder.name}: no analysis of its translations")
    return RunRecord(
        name=folder.name,
        config=_read_or_note(read_mapping, folder / "config.yaml", missing),
        history=_read_or_note(_read_history, folder / "history.jsonl", missing) or [],
        tuned=_read_or_note(read_record, folder / "tuned.json", missing),
        provenance=_read_or_note(read_record, made, missing) if made.exists() else None,
        analyses=[analysis for analysis in analyses if analysis],
    )


def _read_history(path: Path) -> list[dict[str, Any]]:
    """A killed run may leave half a line at the end; what stands before it is good."""
    records = []
    for line in iter_lines(path):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records


def _read_table(path: Path) -> PrintedTable:
    try:
        return from_markdown(read_text(path))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _read_or_note(read: Callable[[Path], Any], path: Path, missing: list[str]) -> Any:
    """The content of a file, or None and a sentence: a report shows what there is."""
    try:
        return read(path)
    except UserError as error:
        missing.append(str(error))
        return None
