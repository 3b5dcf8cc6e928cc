"""`axenat figures`: figures of the paper for a study, as SVG and as JSON for the page, from what it has by now."""

import argparse
from pathlib import Path

from axenat.catalogue import FIGURE_NAMES
from axenat.evaluate.drawing import to_file
from axenat.evaluate.study_figures import draw
from axenat.evaluate.study_files import read_study
from axenat.files import write_json, write_text
from axenat.records import as_plain
from axenat.study_requests import StudyRequest, read_request


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--request", type=Path, required=True, help="YAML file that names figures and their records")
    parser.add_argument("--out", type=Path, required=True, help="folder for {name}.svg and {name}.figure.json")


def main(args: argparse.Namespace) -> None:
    write_figures(read_request(args.request), args.out)


def write_figures(request: StudyRequest, out: Path) -> None:
    study = read_study(request, [])
    for name in FIGURE_NAMES if request.names is None else request.names:
        drawing = draw(name, study)
        write_text(out / f"{name}.svg", to_file(drawing))
        write_json(out / f"{name}.figure.json", as_plain(drawing))
