"""`axenat record`: write the versions of all results to dvc.lock, once they are up to date.

The raw data only enters DVC's cache if it is what data.dvc pins: a changed corpus must show in `dvc status`.
"""

import argparse
from pathlib import Path

import yaml

from axenat.dvc_command import dvc
from axenat.files import read_text, read_yaml, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, default=Path("data.dvc"), help="what pins the raw data (default: %(default)s)"
    )
    parser.add_argument("--stages", default="dvc.yaml", help="stages to record (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    _cache_pinned_data(args.data)
    dvc("commit", "--quiet", "--force", args.stages)


def _cache_pinned_data(pin: Path) -> None:
    """DVC says `not in cache` of fresh data, changed or not; only committing it tells, so that is undone if it is."""
    before = read_text(pin)
    dvc("commit", "--quiet", "--force", str(pin))
    if read_yaml(pin)["outs"][0]["md5"] != yaml.safe_load(before)["outs"][0]["md5"]:
        write_text(pin, before)
