"""`axenat describe`: write dvc.yaml, the study in config/config.yaml as stages of DVC."""

import argparse
from pathlib import Path

from axenat.dvc_stages import CONFIG, describe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, default=Path(CONFIG), help="the study (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("dvc.yaml"), help="file to write (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    if describe(args.config, args.out):
        print(f"{args.out} describes the study in {args.config} now")
