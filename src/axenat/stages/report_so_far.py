"""`axenat report_so_far`: tables, figures and page of a study that is not done, which say what is missing."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from axenat.config import TABLE_NAMES
from axenat.files import UserError
from axenat.layout import FIGURE_NAMES
from axenat.stages import figures, report, tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--names", nargs="*", choices=TABLE_NAMES, default=TABLE_NAMES, help="tables to write")
    parser.add_argument("--logs", type=Path, default=Path("logs"), help="folder of logs (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("words", nargs="*", metavar="-- --study-name ...", help="flags of tables, figures and report")


def main(args: argparse.Namespace) -> None:
    page, folder = args.out / "report.html", args.out
    drawn = [folder / "figures" / f"{name}.svg" for name in FIGURE_NAMES]
    printed = [folder / "tables" / f"{name}.md" for name in args.names]
    _call(figures, [*args.words, "--out", folder / "figures"])
    if args.names:
        _call(tables, [*args.words, "--names", *args.names, "--out", folder / "tables"])
    made = ("--figures", *drawn, "--tables", *printed, "--logs", args.logs, "--machine", folder / "machine.html")
    _call(report, [*args.words, *made, "--out", page])
    print(f"What there is so far, and what is missing: {page}")


def _call(stage: ModuleType, words: Sequence[object]) -> None:
    """Each takes the flags that it knows. What one refuses must not keep the others from telling the rest."""
    parser = argparse.ArgumentParser(prog=f"axenat {stage.__name__.rpartition('.')[2]}", allow_abbrev=False)
    stage.add_arguments(parser)
    known, _ = parser.parse_known_args([str(word) for word in words])
    try:
        stage.main(known)
    except UserError as error:
        print(f"{parser.prog}: {error}")
