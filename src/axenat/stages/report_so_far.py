"""`axenat report_so_far`: tables, figures and page of a study that is not done, which say what is missing."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from axenat.catalogue import FIGURE_NAMES, TABLE_NAMES
from axenat.files import UserError
from axenat.stages.figures import write_figures
from axenat.stages.report import write_pages
from axenat.stages.tables import write_tables
from axenat.study_requests import read_request


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--request", type=Path, required=True, help="YAML file that names the tables and all records")
    parser.add_argument("--logs", type=Path, default=Path("logs"), help="folder of logs (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")


def main(args: argparse.Namespace) -> None:
    request, folder = read_request(args.request), args.out
    names = TABLE_NAMES if request.names is None else request.names
    shown = replace(
        request,
        tables=tuple(f"{folder}/tables/{name}.table.json" for name in names),
        figures=tuple(f"{folder}/figures/{name}.figure.json" for name in FIGURE_NAMES),
    )
    with _going_on("figures"):
        write_figures(replace(request, names=FIGURE_NAMES), folder / "figures")
    with _going_on("tables"):
        write_tables(request, folder / "tables")
    with _going_on("report"):
        write_pages(shown, folder / "report.html", folder / "machine.html", failures_in(args.logs))
    print(f"What there is so far, and what is missing: {folder / 'report.html'}")


@contextmanager
def _going_on(stage: str) -> Iterator[None]:
    """What one stage refuses must not keep the others from telling the rest."""
    try:
        yield
    except UserError as error:
        print(f"axenat {stage}: {error}")


def failures_in(logs: Path) -> list[str]:
    """The last line of each log that ends in an error; a job that is run again writes its log anew."""
    found = []
    for path in sorted(logs.glob("*/*.log")):
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        refused = bool(lines) and lines[-1].startswith(f"axenat {path.parent.name}: ")
        if refused or any(line.startswith("Traceback ") for line in lines):
            found.append(f"{path}: {lines[-1].strip()}")
    return found
