"""`axenat summarise`: every score of a study in one file, one table, and on the terminal."""

import argparse
from typing import Any

from axenat.evaluate.comparisons import compare, pairs_to_compare, texts_of
from axenat.evaluate.decodings import spelled_out, with_one_candidate
from axenat.evaluate.seeds import over_seeds
from axenat.evaluate.study_files import read_study
from axenat.evaluate.tables import to_csv, to_markdown, to_terminal
from axenat.files import read_lines, write_json, write_text
from axenat.study_requests import StudyRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--study-name", required=True)
    parser.add_argument("--scores", nargs="+", required=True, help="score.json files, which name their texts")
    parser.add_argument("--further", nargs="*", default=[], help="those of decodings beside each run's own")
    parser.add_argument("--choices", nargs="*", default=[], help="results of `axenat choose`")
    parser.add_argument("--out", required=True, help="summary.json to write")
    parser.add_argument("--markdown", required=True, help="table to write as Markdown")
    parser.add_argument("--csv", required=True, help="table to write as CSV")


def main(args: argparse.Namespace) -> None:
    scores, further, choices = map(tuple, (args.scores, args.further, args.choices))
    study = read_study(StudyRequest(study=args.study_name, scores=scores, further=further, choices=choices))
    pairs = list(pairs_to_compare(study.scores))
    paths = {path for pair in pairs for score in pair for path in texts_of(score)}
    texts = {path: read_lines(path) for path in sorted(paths)}
    summary: dict[str, Any] = {
        "study": study.name,
        "scores": study.scores,
        "decodings": [spelled_out(score) for score in study.decodings],
        "comparisons": [compare(a, b, texts) for a, b in pairs],
        "seeds": over_seeds(study.decodings),
    }
    shown = {**summary, "scores": with_one_candidate(study.scores, study.decodings)}
    write_text(args.markdown, to_markdown(shown))
    write_text(args.csv, to_csv(shown["scores"]))
    write_json(args.out, summary)
    print(to_terminal(shown))
