"""`python -m tests.mutants`: make each mistake of the list in a copy of the project, run the tests that should fail.

A mutant is killed when a test fails that passes without it. Outcomes are kept in .mutants/, so that an interrupted run
goes on. A mutant runs again when it, the file that it changes or one of its test files has changed.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

from tests.mutants.patches import Mutant, place_of, pytest_words, read_mutants

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 900
LEAST_KILLED = 0.98
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
# Exit codes of pytest: tests failed, or the run was interrupted by errors in collection.
FAILING = (1, 2)


@dataclass(frozen=True, slots=True)
class Outcome:
    key: str
    name: str
    # killed, survived or timeout; the last counts as killed.
    what: str
    # The first test that failed.
    test: str
    seconds: int


def main(words: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants to run, by parts of their names (default: all)")
    parser.add_argument("--workers", type=int, default=2, help="mutants at a time (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="also those whose outcome is known")
    args = parser.parse_args(words)
    mutants = [one for one in read_mutants(root) if not args.names or any(part in one.name for part in args.names)]
    kept = root / ".mutants"
    known = {} if args.again else _known(kept / "outcomes.jsonl")
    keys = {one.name: _key(one, root) for one in mutants}
    todo = [one for one in mutants if keys[one.name] not in known]
    trees: Queue[Path] = Queue()
    for number in range(args.workers):
        trees.put(_copy(root, kept / f"tree-{number}"))
    with ThreadPoolExecutor(args.workers) as pool, (kept / "outcomes.jsonl").open("a", encoding="utf-8") as stream:
        outcomes = pool.map(lambda one: _outcome(one, keys[one.name], trees), todo)
        for number, outcome in enumerate(outcomes, 1):
            known[outcome.key] = outcome
            print(json.dumps(asdict(outcome)), file=stream, flush=True)
            place = f"{number}/{len(todo)} {outcome.what:8} {outcome.name}"
            print(f"{place} ({outcome.seconds} s) {outcome.test}", flush=True)
    return _summary(mutants, [known[keys[one.name]] for one in mutants], trees.get())


def _known(path: Path) -> dict[str, Outcome]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {outcome.key: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}


def _key(mutant: Mutant, root: Path) -> str:
    """A checksum of what decides the outcome: the mutant, the file that it changes, its test files."""
    path, _ = place_of(mutant, root)
    files = [path, *sorted({root / words[0].partition("::")[0] for words in pytest_words(mutant, root)})]
    content = [repr(mutant).encode(), *(file.read_bytes() for file in files)]
    return hashlib.sha256(b"\0".join(content)).hexdigest()


def _copy(root: Path, tree: Path) -> Path:
    """All files that git tracks or would track. Compiled kernels in an earlier copy are used again."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    there = [name for name in filter(None, listed) if os.path.lexists(root / name)]
    wanted = {name for name in there if not name.startswith(".mutants/")}
    for path in list(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if (path.is_symlink() or path.is_file()) and "__pycache__" not in name and name not in wanted:
            path.unlink()
    for name in wanted:
        source, target = root / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or not target.exists() or target.stat().st_mtime_ns != source.stat().st_mtime_ns:
            target.unlink(missing_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return tree


def _outcome(mutant: Mutant, key: str, trees: "Queue[Path]") -> Outcome:
    tree, start = trees.get(), time.monotonic()
    try:
        with _mistake_in_place(mutant, tree):
            what, test = _tested(mutant, tree)
        return Outcome(key, mutant.name, what, test, round(time.monotonic() - start))
    finally:
        trees.put(tree)


@contextmanager
def _mistake_in_place(mutant: Mutant, tree: Path) -> Iterator[None]:
    path, text = place_of(mutant, tree)
    before, times = path.read_bytes(), path.stat()
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(before)
        # With its old time, compiled files of the old text count again.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _tested(mutant: Mutant, tree: Path) -> tuple[str, str]:
    for words in pytest_words(mutant, tree):
        try:
            done = _pytest(tree, "-x", *words)
        except subprocess.TimeoutExpired:
            return "timeout", words[0]
        if done.returncode in FAILING:
            failed = FAILED.search(done.stdout)
            return "killed", failed[1] if failed else words[0]
        if done.returncode:
            said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
            raise SystemExit(f"mutants: {mutant.name}: pytest {' '.join(words)} ran no test\n{said}")
    return "survived", ""


def _pytest(tree: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=line", "-p", "no:cacheprovider", *words],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )


def _summary(mutants: list[Mutant], outcomes: list[Outcome], tree: Path) -> int:
    """A test that also fails without the mistake has killed nothing."""
    killers = sorted({outcome.test for outcome in outcomes if outcome.what == "killed"})
    broken = FAILED.findall(_pytest(tree, *killers).stdout) if killers else []
    for test in broken:
        print(f"no kill: {test} fails without any mutant")
    pairs = zip(mutants, outcomes, strict=True)
    survived = [one for one, outcome in pairs if outcome.what == "survived" or outcome.test in broken]
    for one in survived:
        print(f"survived: {one.name}: {one.says}" + (f" (known: {one.survives})" if one.survives else ""))
    killed = len(mutants) - len(survived)
    print(f"{killed} of {len(mutants)} mutants killed, {len(survived)} survived")
    unexplained = [one for one in survived if not one.survives]
    return int(bool(unexplained) or killed < LEAST_KILLED * len(mutants))


if __name__ == "__main__":
    sys.exit(main())
