"""`axenat publish`: send what the results hold to MLflow; safe to repeat, sends only what is missing."""

import argparse
from pathlib import Path

from axenat.files import UserError, read_yaml, without_credentials
from axenat.layout import further_outputs
from axenat.publishing.study import data_version, publish_or_explain
from axenat.study import parse_study
from axenat.tracking import tracking_uri


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, default=Path("config/config.yaml"),
                        help="the study to send (default: %(default)s)")  # fmt: skip
    parser.add_argument("--study", help="its name, instead of --config")
    parser.add_argument("--runs", nargs="+", help="names of its runs, with --study")
    parser.add_argument("--further", nargs="*", type=Path, default=[],
                        help="score.json files of further decodings, with --study")  # fmt: skip
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--data", type=Path, default=Path("data.dvc"), help="what pins the data (default: %(default)s)")
    parser.add_argument("--failed", action="store_true", help="its workflow has failed, and MLflow shows that")
    parser.add_argument("--patience", type=float, help="seconds after which the rest is left for another time")


def main(args: argparse.Namespace) -> None:
    name, runs, further = _named(args) if args.study else _configured(args.config)
    version = data_version(args.data)
    number = publish_or_explain(args.results, name, runs, version, further, args.patience, failed=args.failed)
    print(f"published {number} runs of study {name} to {without_credentials(tracking_uri())}")


def _named(args: argparse.Namespace) -> tuple[str, list[str], list[Path]]:
    if not args.runs:
        raise UserError("--study needs --runs: the names of its runs")
    return args.study, args.runs, args.further


def _configured(path: Path) -> tuple[str, list[str], list[Path]]:
    study = parse_study(read_yaml(path))
    further = [Path(place) for run in study.runs for place in further_outputs(study, run, "test", "score.json")]
    return study.name, list(study.runs), further
