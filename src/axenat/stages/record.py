"""`axenat record`: write the versions of all results to dvc.lock, once they are up to date.

A result that was changed after it was made is refused, for it is none. The raw data only enters DVC's cache if it is
what data.dvc pins: a changed corpus must show in `dvc status`.
"""

import argparse
import json
from pathlib import Path

import yaml

from axenat.dvc_command import dvc
from axenat.dvc_lock import changed_by_hand, recorded
from axenat.files import UserError, read_text, read_yaml, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, default=Path("data.dvc"), help="what pins the raw data (default: %(default)s)"
    )
    parser.add_argument("--stages", default="dvc.yaml", help="stages to record (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    _refuse_changed_by_hand(Path(args.stages).with_suffix(".lock"))
    _cache_pinned_data(args.data)
    dvc("commit", "--quiet", "--force", args.stages)


def _refuse_changed_by_hand(lock: Path) -> None:
    if not lock.exists():
        return
    changes = [change for stage in json.loads(dvc("status", "--json")).values() for change in stage]
    modified = {path for change in changes if isinstance(change, dict) for path in change.get("changed outs", {})}
    found = changed_by_hand({path: md5 for path, md5 in recorded(lock).items() if path in modified})
    if found:
        words = "was changed after its job had made it, so that nothing is recorded; delete it and run snakemake again"
        raise UserError(f"{found[0]} {words}")


def _cache_pinned_data(pin: Path) -> None:
    """DVC says `not in cache` of fresh data, changed or not; only committing it tells, so that is undone if it is."""
    before = read_text(pin)
    dvc("commit", "--quiet", "--force", str(pin))
    if read_yaml(pin)["outs"][0]["md5"] != yaml.safe_load(before)["outs"][0]["md5"]:
        write_text(pin, before)
        folder = pin.with_suffix("")
        print(f"{folder} is not what {pin} pins, and no clone can take over these results; `dvc add {folder}` pins it")
