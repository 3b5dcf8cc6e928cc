"""`python -m tests.mutants`: make each mistake of the list in a copy of the project, run the tests that should fail.

A mutant is killed when a test fails that passes without it. Outcomes are kept in .mutants/, so that an interrupted run
goes on; a mutant runs again when it, the file that it changes or one of its test files has changed.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from tests.mutants.patches import Mutant, place_of, read_mutants, tests_of

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".mutants"
TIMEOUT_SECONDS = 900
LEAST_KILLED = 0.98
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
# Exit codes of pytest: tests failed, or the run was interrupted by errors in collection.
FAILING = (1, 2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants to run, by parts of their names (default: all)")
    parser.add_argument("--workers", type=int, default=2, help="mutants at a time (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="also those whose outcome is known")
    args = parser.parse_args()
    chosen = [one for one in read_mutants() if not args.names or any(part in one.name for part in args.names)]
    known = {} if args.again else _known()
    keys = {one.name: _key(one) for one in chosen}
    todo = [one for one in chosen if keys[one.name] not in known]
    trees: Queue[Path] = Queue()
    for number in range(args.workers):
        trees.put(_copy(KEPT / f"tree-{number}"))
    with ThreadPoolExecutor(args.workers) as pool:
        for done, (one, outcome) in enumerate(pool.map(lambda one: (one, _run(one, trees)), todo), 1):
            known[keys[one.name]] = outcome
            with (KEPT / "outcomes.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"key": keys[one.name], **outcome}) + "\n")
            print(
                f"{done}/{len(todo)} {outcome['outcome']:8} {one.name} ({outcome['seconds']} s) {outcome['test']}",
                flush=True,
            )
    return _summary(chosen, [known[keys[one.name]] for one in chosen], trees.get())


def _known() -> dict[str, dict[str, object]]:
    path = KEPT / "outcomes.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {entry.pop("key"): entry for entry in map(json.loads, lines)}


def _key(mutant: Mutant) -> str:
    """Of all that decides the outcome, as far as files tell: the mutant, the code that it changes, its tests."""
    path, _ = place_of(mutant, ROOT)
    tests = {words[0].partition("::")[0] for words in tests_of(mutant, ROOT)}
    content = [repr(mutant).encode(), path.read_bytes(), *((ROOT / test).read_bytes() for test in sorted(tests))]
    return hashlib.sha256(b"\0".join(content)).hexdigest()


def _copy(tree: Path) -> Path:
    """All files that git tracks or would track. Compiled kernels of an earlier copy are used again."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    for path in [*tree.rglob("*")] if tree.exists() else []:
        left = str(path.relative_to(tree))
        if (path.is_file() or path.is_symlink()) and "__pycache__" not in left and left not in wanted:
            path.unlink()
    for name in wanted:
        source, target = ROOT / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or not target.exists() or target.stat().st_mtime != source.stat().st_mtime:
            target.unlink(missing_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return tree


def _run(mutant: Mutant, trees: "Queue[Path]") -> dict[str, object]:
    tree = trees.get()
    try:
        path, text = place_of(mutant, tree)
        before, times = path.read_bytes(), path.stat()
        start = time.monotonic()
        path.write_text(text, encoding="utf-8")
        try:
            return {"name": mutant.name, **_tested(mutant, tree), "seconds": round(time.monotonic() - start)}
        finally:
            path.write_bytes(before)
            # With its old time, compiled files of the old text count again.
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    finally:
        trees.put(tree)


def _tested(mutant: Mutant, tree: Path) -> dict[str, str]:
    for words in tests_of(mutant, tree):
        try:
            done = _pytest(tree, *words)
        except subprocess.TimeoutExpired:
            return {"outcome": "timeout", "test": words[0]}
        if done.returncode in FAILING:
            failed = FAILED.search(done.stdout)
            return {"outcome": "killed", "test": failed[1] if failed else words[0]}
        if done.returncode:
            raise SystemExit(
                f"mutants: {mutant.name}: pytest {' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
    return {"outcome": "survived", "test": ""}


def _pytest(tree: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=line", "-p", "no:cacheprovider", *words]
    return subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )


def _summary(mutants: list[Mutant], outcomes: list[dict[str, object]], tree: Path) -> int:
    """A test that also fails without the mistake has killed nothing."""
    killers = sorted({str(one["test"]) for one in outcomes if one["outcome"] == "killed"})
    broken = FAILED.findall(_pytest(tree, "--maxfail=0", *killers).stdout) if killers else []
    for test in broken:
        print(f"no kill: {test} fails without any mutant")
    survived = [
        one for one, outcome in zip(mutants, outcomes, strict=True)
        if outcome["outcome"] == "survived" or outcome["test"] in broken
    ]  # fmt: skip
    for one in survived:
        print(f"survived: {one.name}: {one.says}" + (f" (known: {one.survives})" if one.survives else ""))
    killed = len(mutants) - len(survived)
    print(f"{killed} of {len(mutants)} mutants killed, {len(survived)} survived")
    unexplained = [one for one in survived if not one.survives]
    return int(bool(unexplained) or killed < LEAST_KILLED * len(mutants))


if __name__ == "__main__":
    sys.exit(main())
