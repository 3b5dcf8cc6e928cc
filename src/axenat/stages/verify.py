"""`axenat verify`: are the results, and the data, what dvc.lock and data.dvc say?

Exit code 0: all of them are, to the bit. 1: some are not; each is told with the md5 that was expected and the one that
was found. 2: there is nothing to compare with.
"""

import argparse
from pathlib import Path

from axenat.dvc_lock import differences, recorded
from axenat.files import UserError


class DifferentError(UserError):
    """Nothing is wrong with the question; the answer is no."""

    exit_code = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lock", type=Path, default=Path("dvc.lock"),
                        help="what results should be, also of another folder (default: %(default)s)")  # fmt: skip
    parser.add_argument("--data", type=Path, default=Path("data.dvc"),
                        help="what the raw text should be, if there is such a file (default: %(default)s)")  # fmt: skip


def main(args: argparse.Namespace) -> None:
    outs = recorded(args.lock, args.data if args.data.exists() else None)
    found = 0
    for difference in differences(outs):
        print(difference)
        found += 1
    if found:
        raise DifferentError(f"{found} {'file is' if found == 1 else 'files are'} not as {args.lock} says")
    print(f"all {len(outs)} files and folders are as {args.lock} says")
