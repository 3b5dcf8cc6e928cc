"""How many lines of a text are the same after tokenising and detokenising, and how many of them a second takes.

python -m benchmarks.text_round_trip --file train.de.gz --language de --json text_round_trip.json
"""

import argparse
import gzip
import time
from collections.abc import Callable
from pathlib import Path

from axenat.data.text import clean_line, detokenise, tokenise
from axenat.files import decode_lines
from axenat.languages import LANGUAGES
from benchmarks.measure import arguments, report


def main(argv: list[str] | None = None) -> None:
    args = arguments(__doc__, argv, rounds=1, add=_add_arguments)
    with gzip.open(args.file) if args.file.suffix == ".gz" else args.file.open("rb") as stream:
        lines = [clean_line(line) for line in decode_lines(stream, str(args.file))]
    tokenise("once", args.language)  # what is loaded once is not the speed of a line
    words, tokenised = _timed(lambda line: tokenise(line, args.language), lines)
    joined, detokenised = _timed(lambda line: detokenise(line, args.language), words)
    changed = [(line, after) for line, after in zip(lines, joined, strict=True) if line != after]
    results = {
        "file": args.file.name, "language": args.language, "lines": len(lines), "exact": len(lines) - len(changed),
        "tokenised_per_second": tokenised, "detokenised_per_second": detokenised,
        "changed": [{"line": line, "after": after} for line, after in changed[: args.show]],
    }  # fmt: skip
    table = [[key, f"{value:,.0f}"] for key, value in results.items() if isinstance(value, int | float)]
    report(args.json, "text_round_trip", results, table + [[line, after] for line, after in changed[: args.show]])


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", type=Path, required=True, help="plain text, one sentence a line, or the same as .gz")
    parser.add_argument("--language", choices=LANGUAGES, required=True)
    parser.add_argument("--show", type=int, default=20, help="changed lines to show (default: %(default)s)")


def _timed(change: Callable[[str], str], lines: list[str]) -> tuple[list[str], float]:
    """The changed lines, and how many of them a second of one core takes."""
    start = time.process_time()
    changed = [change(line) for line in lines]
    return changed, len(lines) / max(time.process_time() - start, 1e-9)


if __name__ == "__main__":
    main()
