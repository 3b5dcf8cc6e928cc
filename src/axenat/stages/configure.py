"""`axenat configure`: the resolved keys of one stage as a file, rewritten only when they change."""

import argparse
import json
from pathlib import Path

from axenat.files import UserError, write_yaml


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--resolved", required=True, help="the keys as one JSON object")
    parser.add_argument("--out", type=Path, required=True, help="YAML file to write")


def main(args: argparse.Namespace) -> None:
    try:
        resolved = json.loads(args.resolved)
    except json.JSONDecodeError as error:
        raise UserError(f"--resolved: not valid JSON ({error})") from None
    write_yaml(args.out, resolved)
