"""`axenat publish`: send what the results hold to MLflow; safe to repeat, sends only what is missing."""

import argparse
from pathlib import Path

from axenat.files import read_yaml
from axenat.tracking import publish_or_explain, tracking_uri


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--study", required=True, help="name of the study")
    parser.add_argument("--runs", nargs="+", required=True, help="names of its runs")
    parser.add_argument("--further", nargs="*", type=Path, default=[], help="score.json files of further decodings")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--data", type=Path, default=Path("data.dvc"), help="what pins the data (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    version = read_yaml(args.data)["outs"][0]["md5"] if args.data.exists() else None
    number = publish_or_explain(args.results, args.study, args.runs, version, args.further)
    print(f"published {number} runs of study {args.study} to {tracking_uri()}")
