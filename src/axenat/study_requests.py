"""What `tables`, `figures`, `report` and `report_so_far` are asked to do: a file for each of their jobs.

Such a request names the records that the job waits for, and what only the study knows. So a change of the study makes
stale what it changes, and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from axenat import layout, needs
from axenat.catalogue import CATALOGUE, FIGURE_NAMES, TABLE_NAMES
from axenat.config import PAPER_COLUMNS
from axenat.files import read_mapping
from axenat.jobs import jobs_of
from axenat.records import build, one_of
from axenat.study import Study

# What may be read of the folder of a run.
PARTS = ("config", "decode", "histories", "tuned", "provenance", "analyses")
SO_FAR = "report_so_far"


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyRequest:
    """Records are paths, and need not be there."""

    study: str
    note: str = ""  # a sentence for the top of the page
    names: tuple[str, ...] | None = None  # tables to write, or figures to draw; all there are if it is left out
    runs: tuple[str, ...] = ()  # their folders
    parts: tuple[str, ...] = PARTS  # of each folder
    scores: tuple[str, ...] = ()  # score.json files of each run's own decoding
    further: tuple[str, ...] = ()  # those of its other decodings
    choices: tuple[str, ...] = ()  # results of `axenat choose`
    origins: tuple[str, ...] = ()  # data/{corpus}/origin.yaml of each corpus
    raw: tuple[str, ...] = ()  # results of `axenat download`, {split}.json files
    counts: tuple[str, ...] = ()  # results of `axenat clean`, counts.json files
    speed: tuple[str, ...] = ()  # result of `axenat speed`
    summary: tuple[str, ...] = ()  # summary.json of the study, for its significance tests
    tables: tuple[str, ...] = ()  # results of `axenat tables`, as JSON
    figures: tuple[str, ...] = ()  # results of `axenat figures`, as JSON
    teachers: tuple[str, ...] = ()  # runs whose translations are the distilled side
    paper: str = ""  # paper.yaml: the published numbers to show next to ours
    paper_columns: dict[str, str] = field(default_factory=dict)  # of the corpora that are the paper's own
    published: str = PAPER_COLUMNS[0]  # the column that all other corpora are shown with
    lacking: tuple[str, ...] = ()  # what the study would need for more, in words
    documents: tuple[str, ...] = ()  # further texts that tell of departures from the paper
    data: str = "data.dvc"  # what pins the data
    jobs: dict[str, int] = field(default_factory=dict)  # number of jobs of each stage

    def __post_init__(self) -> None:
        for name in self.names or ():
            one_of("each of names", name, tuple(CATALOGUE))
        for part in self.parts:
            one_of("each of parts", part, PARTS)
        one_of("published", self.published, PAPER_COLUMNS)
        for corpus, column in self.paper_columns.items():
            one_of(f"paper_columns.{corpus}", column, PAPER_COLUMNS)


def read_request(path: Path) -> StudyRequest:
    return build(StudyRequest, read_mapping(path, "study"), str(path))


def table_request(name: str) -> str:
    return f"tables-{name}"


def figure_request(name: str) -> str:
    return f"figures-{name}"


# Of every table and figure that may be asked for, whether the study lists it or not.
REQUESTS = (*map(table_request, TABLE_NAMES), *map(figure_request, FIGURE_NAMES), "report", SO_FAR)


def requests_of(study: Study) -> list[str]:
    """Those that `all` needs."""
    return [*map(table_request, study.tables), *map(figure_request, FIGURE_NAMES), "report"]


def records_of(study: Study, request: str) -> dict[str, list[str]]:
    """Every file that its job reads, by what it is."""
    stage, _, name = request.partition("-")
    if stage == "tables":
        return _records(study, CATALOGUE[name].reads, needs.runs_for(study, name), needs.grids_for(study, name))
    if stage == "figures":
        return _records(study, CATALOGUE[name].reads, needs.drawn_runs(study, name), needs.grids_for(study, name))
    shown = ("scores", "further", "choices", "origins")
    if stage == SO_FAR:
        return _records(study, (*shown, "raw", "counts", "speed"), list(study.runs), list(study.grids))
    every = _records(study, (*shown, "analyses", "histories", "tuned"), list(study.runs), list(study.grids))
    pages = {"tables": layout.tables(study, "table.json"), "figures": layout.figures("figure.json")}
    return {"summary": ["results/summary.json"], **every, **pages}


def files_of(study: Study, request: str) -> list[str]:
    return [path for paths in records_of(study, request).values() for path in paths]


def _records(study: Study, reads: Sequence[str], runs: list[str], grids: list[str]) -> dict[str, list[str]]:
    def of_runs(name: str) -> list[str]:
        return [f"results/runs/{run}/{name}" for run in runs]

    def outputs(ending: str) -> list[str]:
        return [layout.output(study, run, "test", ending) for run in runs]

    known = {
        "config": of_runs("config.yaml"),
        "tuned": of_runs("tuned.json"),
        "histories": of_runs("history.jsonl"),
        "analyses": outputs("analysis.json"),
        "scores": outputs("score.json"),
        "further": [path for run in runs for path in layout.further_outputs(study, run, "test", "score.json")],
        "choices": [f"results/choices/{grid}.json" for grid in grids],
        "origins": layout.origins(study),
        "raw": layout.raw_counts(study),
        "counts": layout.clean_counts(study),
        "speed": [layout.SPEED],
    }
    return {name: known[name] for name in ("config", *reads)}


def request_of(study: Study, request: str, paper: str, documents: Sequence[str]) -> dict[str, Any]:
    """Its content, without what is empty."""
    stage, _, name = request.partition("-")
    records = records_of(study, request)
    runs = [str(PurePath(path).parent) for path in records["config"]]
    values: dict[str, Any] = {"study": study.name}
    if stage in ("report", SO_FAR):
        values |= {"note": study.note, "documents": list(documents), "jobs": jobs_of(study)}
    if stage in ("tables", SO_FAR):
        values |= {"teachers": study.teachers, "paper": paper, "paper_columns": needs.paper_columns(study)}
        values |= {"published": study.published, "lacking": needs.lacking(study, name) if name else []}
    if name:
        values |= {"names": [name], "parts": [part for part in PARTS if part in records] if runs else []}
    values |= {"runs": runs, **{kind: paths for kind, paths in records.items() if kind not in PARTS}}
    said = {key: value for key, value in values.items() if value}
    return {**said, "names": list(study.tables)} if stage == SO_FAR else said
