"""`axenat tables`: the tables of the paper for a study, as Markdown, CSV and LaTeX, from whatever it has by now."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from axenat.config import PAPER_COLUMNS, TABLE_NAMES
from axenat.evaluate.comparisons import CHOICE_KEYS, SCORE_KEYS
from axenat.evaluate.latex import to_latex
from axenat.evaluate.paper import load_paper
from axenat.evaluate.study_files import existing
from axenat.evaluate.study_record import CorpusRecord, RunRecord, StudyRecord
from axenat.evaluate.study_tables import table_of
from axenat.evaluate.table_text import printed, to_csv, to_markdown
from axenat.files import UserError, read_mapping, read_record, write_text

FILES = {
    "--runs": "folders of the runs",
    "--scores": "score.json files",
    "--further": "those of decodings beside each run's own",
    "--analyses": "analysis.json files",
    "--choices": "results of `axenat choose`",
    "--origins": "data/{corpus}/origin.yaml of each corpus",
    "--raw": "results of `axenat download`, {split}.json files",
    "--counts": "results of `axenat clean`, counts.json files",
    "--speed": "result of `axenat speed`",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--study-name", required=True)
    parser.add_argument("--names", nargs="+", choices=TABLE_NAMES, default=TABLE_NAMES, help="tables to write")
    for flag, what in FILES.items():
        parser.add_argument(flag, nargs="*", type=Path, default=[], help=what)
    parser.add_argument("--teachers", nargs="*", default=[], help="runs whose translations are the distilled side")
    parser.add_argument("--paper", type=Path, help="paper.yaml: the published numbers to show beside")
    parser.add_argument("--own", nargs="*", default=[], help="corpora of the paper, as corpus=column")
    parser.add_argument("--published", choices=PAPER_COLUMNS, default=PAPER_COLUMNS[0],
                        help="the column that other corpora are shown beside (default: %(default)s)")  # fmt: skip
    parser.add_argument("--lacking", nargs="*", default=[], help="what the study would need for more, in words")
    parser.add_argument("--out", type=Path, required=True, help="folder to write {name}.md, .csv and .tex to")


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
        speed=next(iter(_existing(read_record, args.speed, "training", "decoding")), {}),
        teachers=args.teachers,
        paper=load_paper(args.paper) if args.paper else None,
        paper_columns=dict(map(_column, args.own)),
        published=args.published,
        lacking=args.lacking,
        missing=[f"Missing, {path}: no such file." for path in args.choices if not path.exists()],
    )
    for name in args.names:
        table = table_of(name, study)
        write_text(args.out / f"{name}.md", to_markdown(printed(table)))
        write_text(args.out / f"{name}.csv", to_csv(table))
        write_text(args.out / f"{name}.tex", to_latex(printed(table), name))


def _column(word: str) -> tuple[str, str]:
    corpus, _, column = word.partition("=")
    if column not in PAPER_COLUMNS:
        raise UserError(f"--own {word}: must be corpus=column, with a column from {', '.join(PAPER_COLUMNS)}")
    return corpus, column


def _existing(read: Callable[..., dict[str, Any]], paths: Sequence[Path], *keys: str) -> list[dict[str, Any]]:
    """A table shows what there is, and says itself which runs are missing; a damaged file is as good as none."""
    return existing(lambda path: read(path, *keys), [path for path in paths if path.exists()], [])


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
