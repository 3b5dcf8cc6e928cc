"""`axenat summarise`: every score of a study in one file, one table, and on the terminal."""

import argparse

from axenat.evaluate.comparisons import CHOICE_KEYS, SCORE_KEYS, compare, mark_chosen, pairs_to_compare, texts_of
from axenat.evaluate.decodings import spelled_out, with_one_candidate
from axenat.evaluate.seeds import over_seeds
from axenat.evaluate.tables import to_csv, to_markdown, to_terminal
from axenat.files import read_lines, read_record, write_json, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--study-name", required=True)
    parser.add_argument("--scores", nargs="+", required=True, help="score.json files, which name their texts")
    parser.add_argument("--further", nargs="*", default=[], help="those of decodings beside each run's own")
    parser.add_argument("--choices", nargs="*", default=[], help="results of `axenat choose`")
    parser.add_argument("--out", required=True, help="summary.json to write")
    parser.add_argument("--markdown", required=True, help="table to write as Markdown")
    parser.add_argument("--csv", required=True, help="table to write as CSV")


def main(args: argparse.Namespace) -> None:
    choices = [read_record(path, *CHOICE_KEYS) for path in args.choices]
    scores, further = (
        mark_chosen([read_record(path, *SCORE_KEYS) for path in paths], choices)
        for paths in (args.scores, args.further)
    )
    pairs = list(pairs_to_compare(scores))
    paths = {path for pair in pairs for score in pair for path in texts_of(score)}
    texts = {path: read_lines(path) for path in sorted(paths)}
    summary = {
        "study": args.study_name,
        "scores": scores,
        "decodings": [spelled_out(score) for score in (*scores, *further)],
        "comparisons": [compare(a, b, texts) for a, b in pairs],
        "seeds": over_seeds([*scores, *further]),
    }
    shown = {**summary, "scores": with_one_candidate(scores, summary["decodings"])}
    write_text(args.markdown, to_markdown(shown))
    write_text(args.csv, to_csv(shown["scores"]))
    write_json(args.out, summary)
    print(to_terminal(shown))
