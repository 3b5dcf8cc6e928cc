"""`axenat compare`: two files of translations against the same references, whatever made them.

Scores in every convention, two paired tests, BLEU by length, repetitions, and the sentences where they differ most.
All files are plain, detokenised text, one sentence a line. Differences are those of the second file from the first.
"""

import argparse
import sys
from pathlib import Path

from axenat.evaluate.analysis import PAPER_BOUNDS
from axenat.evaluate.compare import compare_outputs
from axenat.evaluate.compare_text import comparison_text
from axenat.evaluate.scorable import refuse_subwords
from axenat.files import UserError, read_lines, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", type=Path, metavar="A", help="translations, plain text")
    parser.add_argument("b", type=Path, metavar="B", help="other translations of the same lines")
    parser.add_argument("--references", type=Path, nargs="+", required=True, help="one file for each reference set")
    parser.add_argument("--source", type=Path, help="what was translated, to be shown with the examples")
    parser.add_argument("--language", default="en", help="of the translations, such as de (default: %(default)s)")
    parser.add_argument("--names", nargs=2, metavar=("A", "B"), help="what to call them (default: their file names)")
    parser.add_argument(
        "--bounds", type=int, nargs="+", default=PAPER_BOUNDS, metavar="N",
        help="where each bucket of lengths begins (default: 1 10 20 30 40 50)",
    )  # fmt: skip
    parser.add_argument(
        "--examples", type=int, default=3, metavar="N", help="sentences to show each way (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, help="also write all of it here")


def main(args: argparse.Namespace) -> None:
    if args.examples < 0:
        raise UserError(f"--examples {args.examples}: must be at least 0")
    names = args.names or [str(args.a), str(args.b)]
    paths = [args.a, args.b, *args.references, *([args.source] if args.source else [])]
    texts = _read_alike(paths)
    for path in paths[: 2 + len(args.references)]:
        refuse_subwords(texts[path], str(path))
    comparison = compare_outputs(
        texts[args.a],
        texts[args.b],
        [texts[path] for path in args.references],
        language=args.language,
        bounds=args.bounds,
        num_examples=args.examples,
        sources=texts[args.source] if args.source else None,
    )
    if args.json:
        write_json(args.json, {"a": str(args.a), "b": str(args.b), "names": names, **comparison})
    print(comparison_text(comparison, names, bold=sys.stdout.isatty()))


def _read_alike(paths: list[Path]) -> dict[Path, list[str]]:
    """The lines of each file, which pair up with those of the first."""
    texts = {path: read_lines(path) for path in paths}
    first = texts[paths[0]]
    if not first:
        raise UserError(f"{paths[0]}: is empty; a comparison needs at least one line")
    for path, lines in texts.items():
        if len(lines) != len(first):
            raise UserError(f"{path} has {len(lines)} lines but {paths[0]} has {len(first)}; they must pair up")
    return texts
