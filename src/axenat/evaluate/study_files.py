"""A study read from its files, for `figures` and `report`: what cannot be read is a sentence, never an error."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from axenat.evaluate.comparisons import CHOICE_KEYS, SCORE_KEYS, mark_chosen
from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.files import UserError, iter_lines, read_mapping, read_record
from axenat.layout import outputs_in, provenance_in


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--study-name", required=True)
    parser.add_argument("--runs", nargs="*", type=Path, default=[], help="folders of the runs")
    parser.add_argument("--scores", nargs="*", type=Path, default=[], help="score.json files")
    parser.add_argument("--choices", nargs="*", type=Path, default=[], help="results of `axenat choose`")


def read_study(args: argparse.Namespace, **more: Any) -> StudyRecord:
    """With what `more` says; `missing` lists what there should be and is not."""
    missing: list[str] = more.pop("missing", [])
    further = more.pop("further", [])
    choices = existing(lambda path: read_record(path, *CHOICE_KEYS), args.choices, missing)
    scores = existing(lambda path: read_record(path, *SCORE_KEYS), args.scores, missing)
    marked = mark_chosen(scores, choices)
    return StudyRecord(
        name=args.study_name,
        scores=marked,
        decodings=[*marked, *further],
        runs=[read_run(folder, missing) for folder in args.runs],
        choices=choices,
        missing=missing,
        **more,
    )


def existing(read: Callable[[Path], Any], paths: Sequence[Path], missing: list[str]) -> list[Any]:
    """What can be read of these files; the others are told in `missing`."""
    return [found for path in paths if (found := read_or_note(read, path, missing)) is not None]


def read_or_note(read: Callable[[Path], Any], path: Path, missing: list[str]) -> Any:
    try:
        return read(path)
    except UserError as error:
        missing.append(str(error))
        return None


def read_run(folder: Path, missing: list[str]) -> RunRecord:
    """A folder that is not there is one sentence, not one for each of its files."""
    if not folder.is_dir():
        missing.append(f"{folder}: no such folder; the run has not begun")
        return RunRecord(name=folder.name)
    analyses = existing(lambda path: read_record(path, "run"), outputs_in(folder, "analysis.json"), missing)
    if not analyses:
        missing.append(f"{folder}/analysis of its translations: no such file")
    return RunRecord(
        name=folder.name,
        config=read_or_note(read_mapping, folder / "config.yaml", missing),
        decode=read_or_note(read_mapping, folder / "decode.yaml", missing),
        history=read_or_note(read_history, folder / "history.jsonl", missing) or [],
        tuned=read_or_note(
            lambda path: read_record(path, "key", "value", "candidates"), folder / "tuned.json", missing
        ),
        # A run that DVC restored has none; the page says so in its place.
        provenance=read_or_note(provenance_in, folder, missing) or None,
        analyses=analyses,
    )


def read_history(path: Path) -> list[dict[str, Any]]:
    """A killed run may leave half a line at the end; what stands before it is good."""
    records = []
    for line in iter_lines(path):
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            break
        if not isinstance(record, dict) or not {"kind", "step", "loss"} <= record.keys():
            break
        records.append(record)
    return records


def failures_in(logs: Path) -> list[str]:
    """The last line of each log that ends in an error; a job that is run again writes its log anew."""
    found = []
    for path in sorted(logs.glob("*/*.log")):
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        refused = bool(lines) and lines[-1].startswith(f"axenat {path.parent.name}: ")
        if refused or any(line.startswith("Traceback ") for line in lines):
            found.append(f"{path}: {lines[-1].strip()}")
    return found
