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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

from tests.mutants.patches import Mutant, place_of, pytest_words, read_mutants

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 900
LEAST_KILLED = 0.98
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
# Exit codes of pytest: tests failed, or the run was interrupted by errors in collection. Below zero a signal ended it.
FAILING = (1, 2)
# Imported once for all mutants, in tests.mutants.warm.
LIBRARIES = (
    "ctranslate2",
    "hypothesis",
    "matplotlib.figure",
    "mlflow",
    "numba",
    "onnxruntime",
    "pandas",
    "sacrebleu",
    "sacremoses",
    "torch._dynamo",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    key: str
    name: str
    # killed, survived or timeout; the last counts as killed.
    what: str
    # The first test that failed.
    test: str
    seconds: int


class Worker:
    """A copy of the project, and a warm process that runs pytest in it."""

    def __init__(self, tree: Path, libraries: Sequence[str]) -> None:
        self.tree = tree
        command = [sys.executable, str(Path(__file__).with_name("warm.py")), *libraries]
        self.process = subprocess.Popen(command, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def pytest(self, *words: str, timeout: float = TIMEOUT_SECONDS) -> tuple[int | None, str]:
        """The exit code, None if the time was not enough, and what pytest printed."""
        assert self.process.stdin and self.process.stdout
        output = self.tree.with_suffix(".out")
        options = ["-q", "-rfE", "--tb=line", "-p", "no:cacheprovider"]
        request = {"tree": str(self.tree), "words": [*options, *words], "output": str(output), "timeout": timeout}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        code = json.loads(self.process.stdout.readline())["code"]
        return code, output.read_text(encoding="utf-8", errors="replace")


def main(words: list[str] | None = None, root: Path = ROOT, libraries: tuple[str, ...] = LIBRARIES) -> int:
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
    with ExitStack() as stack:
        workers: Queue[Worker] = Queue()
        for number in range(args.workers):
            workers.put(stack.enter_context(Worker(_copy(root, kept / f"tree-{number}"), libraries)))
        stream = stack.enter_context((kept / "outcomes.jsonl").open("a", encoding="utf-8"))
        pool = stack.enter_context(ThreadPoolExecutor(args.workers))
        outcomes = pool.map(lambda one: _outcome(one, keys[one.name], workers), todo)
        for number, outcome in enumerate(outcomes, 1):
            known[outcome.key] = outcome
            print(json.dumps(asdict(outcome)), file=stream, flush=True)
            place = f"{number}/{len(todo)} {outcome.what:8} {outcome.name}"
            print(f"{place} ({outcome.seconds} s) {outcome.test}", flush=True)
        return _summary(mutants, [known[keys[one.name]] for one in mutants], workers.get())


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


def _outcome(mutant: Mutant, key: str, workers: "Queue[Worker]") -> Outcome:
    worker, start = workers.get(), time.monotonic()
    try:
        with _mistake_in_place(mutant, worker.tree):
            what, test = _tested(mutant, worker)
        return Outcome(key, mutant.name, what, test, round(time.monotonic() - start))
    finally:
        workers.put(worker)


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


def _tested(mutant: Mutant, worker: Worker) -> tuple[str, str]:
    for words in pytest_words(mutant, worker.tree):
        code, said = worker.pytest("-x", *words)
        if code is None:
            return "timeout", words[0]
        if code in FAILING or code < 0:
            failed = FAILED.search(said)
            return "killed", failed[1] if failed else words[0]
        if code:
            raise SystemExit(f"mutants: {mutant.name}: pytest {' '.join(words)} ran no test\n{said[-4000:]}")
    return "survived", ""


def _summary(mutants: list[Mutant], outcomes: list[Outcome], worker: Worker) -> int:
    """A test that also fails without the mistake has killed nothing."""
    killers = sorted({outcome.test for outcome in outcomes if outcome.what == "killed"})
    code, said = worker.pytest(*killers, timeout=4 * TIMEOUT_SECONDS) if killers else (0, "")
    if code is None:
        raise SystemExit("mutants: the tests that killed do not end without a mutant")
    broken = FAILED.findall(said)
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
