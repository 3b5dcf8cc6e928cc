"""`axenat tables`: tables of the paper for a study, as Markdown, CSV, LaTeX and JSON, from what it has by now."""

import argparse
from dataclasses import replace
from pathlib import Path

from axenat.catalogue import TABLE_NAMES
from axenat.evaluate.latex import to_latex
from axenat.evaluate.paper import load_paper
from axenat.evaluate.study_files import read_study
from axenat.evaluate.study_tables import table_of
from axenat.evaluate.table_text import printed, to_csv, to_markdown
from axenat.files import write_json, write_text
from axenat.records import as_plain
from axenat.study_requests import StudyRequest, read_request


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--request", type=Path, required=True, help="YAML file that names tables and their records")
    parser.add_argument("--out", type=Path, required=True, help="folder for {name}.md, .csv, .tex and .table.json")


def main(args: argparse.Namespace) -> None:
    write_tables(read_request(args.request), args.out)


def write_tables(request: StudyRequest, out: Path) -> None:
    """A table shows what there is, and says itself which runs are missing; a damaged file is as good as none."""
    study = replace(
        read_study(request, []),
        paper=load_paper(Path(request.paper)) if request.paper else None,
        missing=[f"Missing, {path}: no such file." for path in request.choices if not Path(path).exists()],
    )
    for name in TABLE_NAMES if request.names is None else request.names:
        table = table_of(name, study)
        write_text(out / f"{name}.md", to_markdown(printed(table)))
        write_text(out / f"{name}.csv", to_csv(table))
        write_text(out / f"{name}.tex", to_latex(printed(table), name))
        write_json(out / f"{name}.table.json", as_plain(printed(table)))
