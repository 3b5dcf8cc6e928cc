"""`axenat figures`: the figures of the paper for a study, each as an SVG file, from whatever it has by now."""

import argparse
from pathlib import Path

from axenat.evaluate.drawing import to_file
from axenat.evaluate.study_figures import draw
from axenat.evaluate.study_files import add_study_arguments, read_study
from axenat.files import write_text
from axenat.layout import FIGURE_NAMES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study_arguments(parser)
    parser.add_argument("--names", nargs="+", choices=FIGURE_NAMES, default=FIGURE_NAMES, help="figures to draw")
    parser.add_argument("--out", type=Path, required=True, help="folder to write {name}.svg to")


def main(args: argparse.Namespace) -> None:
    study = read_study(args)
    for name in args.names:
        write_text(args.out / f"{name}.svg", to_file(draw(name, study)))
