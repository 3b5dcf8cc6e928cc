"""`axenat tables`: the tables of the paper for a study, each as Markdown and CSV, from whatever it has by now."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from axenat.config import TABLE_NAMES
from axenat.evaluate.comparisons import CHOICE_KEYS, SCORE_KEYS
from axenat.evaluate.study_record import CorpusRecord, RunRecord, StudyRecord
from axenat.evaluate.study_tables import TABLES
from axenat.evaluate.table_text import printed, to_csv, to_markdown
from axenat.files import read_mapping, read_record, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--study-name", required=True)
    parser.add_argument("--names", nargs="*", choices=TABLE_NAMES, default=TABLE_NAMES, help="tables to write")
    parser.add_argument("--runs", nargs="+", type=Path, required=True, help="folders of the runs")
    parser.add_argument("--scores", nargs="*", type=Path, default=[], help="score.json files")
    parser.add_argument("--further", nargs="*", type=Path, default=[], help="those of decodings beside each run's own")
    parser.add_argument("--analyses", nargs="*", type=Path, default=[], help="analysis.json files")
    parser.add_argument("--choices", nargs="*", type=Path, default=[], help="results of `axenat choose`")
    parser.add_argument("--origins", nargs="*", type=Path, default=[], help="data/{corpus}/origin.yaml of each corpus")
    parser.add_argument(
        "--raw", nargs="*", type=Path, default=[], help="results of `axenat download`, {split}.json files"
    )
    parser.add_argument(
        "--counts", nargs="*", type=Path, default=[], help="results of `axenat clean`, counts.json files"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write {name}.md and {name}.csv to")


def main(args: argparse.Namespace) -> None:
    analyses = _existing(read_record, args.analyses, "run")
    scores, further = (_existing(read_record, paths, *SCORE_KEYS) for paths in (args.scores, args.further))
    study = StudyRecord(
        name=args.study_name,
        scores=scores,
        decodings=[*scores, *further],
        runs=[_read_run(folder, analyses) for folder in args.runs],
        choices=_existing(read_record, args.choices, *CHOICE_KEYS),
        corpora=[_read_corpus(path, args.raw, args.counts) for path in args.origins],
        missing=[f"Missing, {path}: no such file." for path in args.choices if not path.exists()],
    )
    for name in set(TABLE_NAMES) - set(args.names):  # of an earlier study that asked for more
        for ending in ("md", "csv"):
            (args.out / f"{name}.{ending}").unlink(missing_ok=True)
    for name in args.names:
        table = TABLES[name](study)
        write_text(args.out / f"{name}.md", to_markdown(printed(table)))
        write_text(args.out / f"{name}.csv", to_csv(table))


def _existing(read: Callable[..., dict[str, Any]], paths: Sequence[Path], *keys: str) -> list[dict[str, Any]]:
    """A table shows what there is, and says itself which runs are missing."""
    return [read(path, *keys) for path in paths if path.exists()]


def _read_run(folder: Path, analyses: Sequence[dict[str, Any]]) -> RunRecord:
    return RunRecord(
        name=folder.name,
        config=next(iter(_existing(read_mapping, [folder / "config.yaml"])), None),
        tuned=next(iter(_existing(read_record, [folder / "tuned.json"])), None),
        analyses=[analysis for analysis in analyses if analysis["run"] == folder.name],
    )


def _read_corpus(origin: Path, raw: Sequence[Path], counts: Sequence[Path]) -> CorpusRecord:
    """Its name is its folder's, below data/ and below results/corpora/."""
    name = origin.parent.name
    clean = [path for path in counts if path.parent.parent.name == name]
    return CorpusRecord(
        name=name,
        origin=next(iter(_existing(read_mapping, [origin])), {}),
        raw=_existing(read_record, [path for path in raw if path.parent.name == name], "split", "parts"),
        counts=_existing(read_record, clean, "split", "pairs", "kept", "dropped"),
    )
