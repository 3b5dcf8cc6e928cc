"""`axenat adopt`: take results that others have made: pull them, check them, and have Snakemake take them as made.

A clone lacks Snakemake's own notes, and its files are of another time; once DVC says that all are what dvc.lock records
for this very configuration, touching them is sound, and nothing is run again.
"""

import argparse
import json
import subprocess

from axenat.dvc_command import dvc
from axenat.files import UserError

MOST_NAMED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--remote", help="where to pull from (default: DVC's default remote, else its local cache)")


def main(args: argparse.Namespace) -> None:
    remote = ["--remote", args.remote] if args.remote else []
    dvc(*(["pull", *remote] if remote or dvc("remote", "list").strip() else ["checkout"]))  # `--quiet` hides reasons
    changed = json.loads(dvc("status", "--json"))
    if changed:
        named = ", ".join([*list(changed)[:MOST_NAMED], *(["..."] if len(changed) > MOST_NAMED else [])])
        raise UserError(f"not as dvc.lock records it, so that it has to be run: {named}; see dvc status")
    _touch()
    print("All results are as dvc.lock records them; Snakemake takes them as made.")


def _touch() -> None:
    """All jobs, so that Snakemake knows the parameters of each; without hooks, since there is nothing new to tell."""
    command = ["snakemake", "--cores", "1", "--touch", "--forceall", "--no-hooks", "--quiet", "all", "--", "all"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        reason = " ".join(done.stderr.split())[-300:]
        raise UserError(f"snakemake --touch failed ({reason})")
