"""`python -m tests.golden`: compare what is there today with the golden records, or change the records.

Without options all records are compared. Records of a finished study need one: --finished .golden/present
after --compare, or .golden/study after --record.
"""

import argparse
import difflib
import os
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden import machine, present, store
from tests.golden.finished import finished_records

ROOT = present.ROOT
FINISHED, HOUSE = "finished", "house"


def main(words: list[str] | None = None, records: Path = store.RECORDS) -> int:
    args = _parser().parse_args(words)
    if args.record:
        machine.record(args.at or "HEAD", args.folder)
        return 0
    if args.compare:
        return int(not machine.compare(args.folder, args.finished))
    if args.replace and not args.names:
        raise SystemExit("golden: --replace needs names of records, such as 'tiny: job tune*'")
    now = _present(args)
    if args.show:
        print(*(f"{store.HEAD}{name}\n{text}" for name, text in sorted(now.items())), sep="", end="")
        return 0
    recorded = store.read_records(records)
    if args.diff:
        return _show_differences(_chosen(recorded, args), now, args)
    if args.add or args.replace:
        return _record(recorded, store.kept(now), args, records)
    found = store.differences(_chosen(recorded, args), store.kept(now))
    print(*(one.sentence for one in found), sep="\n")
    print(f"golden: {len(now)} records compared, {len(found)} differ")
    return int(bool(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=store.TOOL, description=__doc__)
    parser.add_argument("names", nargs="*", help="records, with * for any text, such as 'demo: job*' (default: all)")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--add", action="store_true", help="record what is new; nothing that is recorded is lost")
    modes.add_argument(
        "--replace", action="store_true", help="record the present text of these names, or that they are gone"
    )
    modes.add_argument("--diff", action="store_true", help="show differences line by line")
    modes.add_argument("--show", action="store_true", help="show the present text")
    modes.add_argument(
        "--record", action="store_true", help="run the tiny study of a commit and keep it on this machine"
    )
    modes.add_argument("--compare", action="store_true", help="run the tiny study of today and compare all its files")
    parser.add_argument(
        "--at", metavar="COMMIT", help="for --record and --diff (default: HEAD; the last change of records)"
    )
    parser.add_argument(
        "--folder", type=Path, default=machine.FOLDER, help="of --record and --compare (default: .golden)"
    )
    parser.add_argument(
        "--finished", type=Path, metavar="FOLDER", help="a finished tiny study: for its records, or to be compared"
    )
    parser.add_argument(
        "--tree",
        type=lambda text: Path(text).resolve(),
        default=ROOT,
        help="the checkout to look at (default: this one)",
    )
    return parser


def _present(args: argparse.Namespace) -> dict[str, str]:
    """Records of today by name; only what is asked for is made."""
    found: dict[str, str] = {}
    for study in present.studies(args.tree):
        if _asks_for(study, args):
            found |= present.study_records(study, args.tree)
    if _asks_for(HOUSE, args):
        found |= present.house_records(args.tree)
    if args.finished:
        found |= finished_records(args.finished)
    return _chosen(found, args)


def _asks_for(of: str, args: argparse.Namespace) -> bool:
    return not args.names or any(fnmatchcase(of, name.partition(":")[0]) for name in args.names)


def _chosen(records: dict[str, str], args: argparse.Namespace) -> dict[str, str]:
    """Those that are asked for; of a finished study only if there is one."""
    return {
        name: text
        for name, text in records.items()
        if (not args.names or any(fnmatchcase(name, pattern) for pattern in args.names))
        and (args.finished or not name.startswith(f"{FINISHED}: "))
    }


def _record(recorded: dict[str, str], now: dict[str, str], args: argparse.Namespace, folder: Path) -> int:
    kept, refused = dict(recorded), []
    for one in store.differences(_chosen(recorded, args), now):
        if args.add and one.kind in ("changed", "gone"):
            refused.append(f"{one.sentence}; if that is meant: {store.TOOL} --replace '{one.name}'")
        elif one.kind == "gone":
            del kept[one.name]
        else:
            kept[one.name] = now[one.name]
    store.write_records(kept, folder)
    print(*refused, sep="\n", end="\n" if refused else "")
    print(f"golden: {len(kept)} records, {len(refused)} left as they were")
    return int(bool(refused))


def _show_differences(before: dict[str, str], now: dict[str, str], args: argparse.Namespace) -> int:
    """Records of which only a checksum is kept are made again from the commit that recorded them."""
    if args.at or any(store.CHECKSUM.fullmatch(text) for text in before.values()):
        before = {**before, **_at(args.at or _last_change(), args)}
    for name in sorted(before.keys() | now.keys()):
        old, new = (records.get(name, "").splitlines() for records in (before, now))
        print(*difflib.unified_diff(old, new, f"{name} (recorded)", f"{name} (today)", lineterm=""), sep="\n")
    return int(before != now)


def _last_change() -> str:
    command = ["git", "log", "-1", "--format=%H", "--", str(store.RECORDS)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _at(commit: str, args: argparse.Namespace) -> dict[str, str]:
    """In a process that imports the code of that commit."""
    with TemporaryDirectory() as name:
        tree = machine.checkout(commit, Path(name))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(ROOT)))}
        command = [sys.executable, "-m", "tests.golden", "--show", "--tree", str(tree), *args.names]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return store.parsed(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
