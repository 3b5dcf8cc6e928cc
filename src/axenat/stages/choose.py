"""`axenat choose`: the best run of a grid on the validation set."""

import argparse

from axenat.evaluate.choose import choose_run
from axenat.files import read_mapping, read_record, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--group", required=True, help="name of the grid, for example raw-grid")
    parser.add_argument("--key", required=True, help="config key the grid varies, for example skip_target_penalty")
    parser.add_argument("--tuned", nargs="+", required=True, help="tuned.json of each run")
    parser.add_argument("--analysis", nargs="*", default=[], help="analysis.json of each run on valid")
    parser.add_argument("--run-configs", nargs="+", required=True, help="config.yaml of each run")
    parser.add_argument("--out", required=True, help="choice to write")


def main(args: argparse.Namespace) -> None:
    configs = [read_mapping(path, "run") for path in args.run_configs]
    tuned = [read_record(path, "run", "key", "value", "candidates") for path in args.tuned]
    analyses = [read_record(path, "run") for path in args.analysis]
    write_json(args.out, choose_run(args.group, args.key, configs, tuned, analyses))
