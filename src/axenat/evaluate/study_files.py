"""A study read from the records that a request names: here, and nowhere else, it says which of its runs are chosen."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from axenat.evaluate.comparisons import CHOICE_KEYS, SCORE_KEYS, marked
from axenat.evaluate.study_record import CorpusRecord, RunRecord, StudyRecord
from axenat.files import UserError, iter_lines, read_mapping, read_record
from axenat.layout import outputs_in, provenance_in
from axenat.study_requests import StudyRequest

Missing = list[str] | None  # gets a sentence about each record that cannot be read; None: such a record is refused


def read_study(request: StudyRequest, missing: Missing = None) -> StudyRecord:
    choices = existing(_with_keys(*CHOICE_KEYS), request.choices, missing)
    scores, further = (existing(_with_keys(*SCORE_KEYS), paths, missing) for paths in (request.scores, request.further))
    summary = existing(read_record, request.summary, missing)
    speed = existing(_with_keys("training", "decoding"), request.speed, missing)
    study = StudyRecord(
        name=request.study,
        note=request.note,
        scores=scores,
        decodings=[*scores, *further],
        comparisons=summary[0].get("comparisons", []) if summary else [],
        runs=[_read_run(Path(folder), request.parts, missing) for folder in request.runs],
        choices=choices,
        corpora=[_read_corpus(Path(origin), request, missing) for origin in request.origins],
        speed=speed[0] if speed else {},
        teachers=request.teachers,
        paper_columns=request.paper_columns,
        published=request.published,
        lacking=request.lacking,
        missing=() if missing is None else missing,
    )
    return marked(study)


def existing(read: Callable[[Path], Any], paths: Iterable[str | Path], missing: Missing) -> list[Any]:
    """What can be read of these files."""
    return [found for path in paths if (found := read_or_note(read, Path(path), missing)) is not None]


def read_or_note(read: Callable[[Path], Any], path: Path, missing: Missing) -> Any:
    try:
        return read(path)
    except UserError as error:
        if missing is None:
            raise
        missing.append(str(error))
        return None


def _with_keys(*keys: str) -> Callable[[Path], dict[str, Any]]:
    return lambda path: read_record(path, *keys)


def _read_run(folder: Path, parts: Sequence[str], missing: Missing) -> RunRecord:
    """A folder that is not there is one sentence, not one for each of its files."""

    def part(name: str, read: Callable[[Path], Any], path: Path) -> Any:
        return read_or_note(read, path, missing) if name in parts else None

    if read_or_note(_begun, folder, missing) is None:
        return RunRecord(name=folder.name)
    return RunRecord(
        name=folder.name,
        analyses=_read_analyses(folder, missing) if "analyses" in parts else (),
        config=part("config", read_mapping, folder / "config.yaml"),
        decode=part("decode", read_mapping, folder / "decode.yaml"),
        history=part("histories", _read_history, folder / "history.jsonl") or (),
        tuned=part("tuned", _with_keys("key", "value", "candidates"), folder / "tuned.json"),
        # A run that DVC restored has none; the page says so in its place.
        provenance=part("provenance", provenance_in, folder) or None,
    )


def _begun(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; the run has not begun")
    return folder


def _read_analyses(folder: Path, missing: Missing) -> list[dict[str, Any]]:
    analyses = existing(_with_keys("run"), outputs_in(folder, "analysis.json"), missing)
    if not analyses and missing is not None:
        missing.append(f"{folder}/analysis of its translations: no such file")
    return analyses


def _read_history(path: Path) -> list[dict[str, Any]]:
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


def _read_corpus(origin: Path, request: StudyRequest, missing: Missing) -> CorpusRecord:
    """Its name is its folder's, below data/ and below results/corpora/."""
    name = origin.parent.name
    raw = [path for path in request.raw if Path(path).parent.name == name]
    counts = [path for path in request.counts if Path(path).parent.parent.name == name]
    return CorpusRecord(
        name=name,
        origin=read_or_note(read_mapping, origin, missing) or {},
        raw=existing(_with_keys("split", "parts"), raw, missing),
        counts=existing(_with_keys("split", "pairs", "kept", "dropped"), counts, missing),
    )
