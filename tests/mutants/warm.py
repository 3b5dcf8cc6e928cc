"""A process that has imported the heavy libraries, and runs pytest in a fork for each request.

Importing torch, pandas and mlflow takes longer than most tests that kill a mutant. The code under test and its tests
are imported in the fork, so that each run sees the files as they are. One line of JSON is a request, one the answer.
"""

import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.02


def main(libraries: list[str]) -> None:
    sys.path.pop(0)  # the folder of this file, whose modules are none of the tests'
    for name in ("pytest", *libraries):
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps({"code": _code(**json.loads(line))}), flush=True)


def _code(tree: str, words: list[str], output: str, timeout: float) -> int | None:
    """The exit code of pytest, or None if the time was not enough. Whatever the tests have started ends with them."""
    child = os.fork()
    if not child:
        os.setsid()
        _run_pytest(Path(tree), words, output)
    deadline, status = time.monotonic() + timeout, None
    try:
        while status is None and time.monotonic() < deadline:
            ended, status_now = os.waitpid(child, os.WNOHANG)
            status = status_now if ended else None
            time.sleep(0 if ended else POLL_SECONDS)
    finally:
        _kill_group(child)
        if status is None:
            os.waitpid(child, 0)
    return None if status is None else os.waitstatus_to_exitcode(status)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def _run_pytest(tree: Path, words: list[str], output: str) -> None:
    code: Any = 1
    try:
        with open(output, "wb") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        os.chdir(tree)
        sys.path[:0] = [str(tree / "src"), str(tree)]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH")]))
        code = int(sys.modules["pytest"].main(words))
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
