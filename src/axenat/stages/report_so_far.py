"""`axenat report_so_far`: tables, figures and page of a study that is not done, which say what is missing."""

import argparse
from pathlib import Path
from types import ModuleType
from typing import Any

from axenat.files import UserError
from axenat.layout import FIGURE_NAMES
from axenat.stages import figures, report, tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the three stages that it calls; `--names` and `--out` are of its own."""
    parser.conflict_handler = "resolve"
    for stage in (figures, report, tables):
        stage.add_arguments(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")


def main(args: argparse.Namespace) -> None:
    page = args.out / "report.html"
    _call(figures, args, names=FIGURE_NAMES, out=args.out / "figures")
    _call(tables, args, out=args.out / "tables")
    drawn = [args.out / "figures" / f"{name}.svg" for name in FIGURE_NAMES]
    printed = [args.out / "tables" / f"{name}.md" for name in args.names]
    _call(report, args, out=page, figures=drawn, tables=printed, logs=args.logs or Path("logs"))
    print(f"What there is so far, and what is missing: {page}")


def _call(stage: ModuleType, args: argparse.Namespace, **changes: Any) -> None:
    """What one stage refuses must not keep the others from telling the rest."""
    try:
        stage.main(argparse.Namespace(**{**vars(args), **changes}))
    except UserError as error:
        print(f"{stage.__name__.rpartition('.')[2]}: {error}")
