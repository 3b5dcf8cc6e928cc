"""A process that has imported Snakemake, and plans in a fork for each request.

Importing it takes as long as planning a study. The workflow and its code are read in the fork, as they are then. One
line of JSON is a request, one the answer.
"""

import json
import os
import sys
from typing import Any

from snakemake import cli


def main() -> None:
    sys.path.pop(0)  # the folder of this file, whose modules are none of Snakemake's
    for line in sys.stdin:
        print(json.dumps(_code(**json.loads(line))), flush=True)


def _code(folder: str, words: list[str], output: str) -> int:
    """The exit code; what is printed goes into a file, what is said of errors into one next to it."""
    child = os.fork()
    if not child:
        _plan(folder, words, output)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _plan(folder: str, words: list[str], output: str) -> None:
    code: Any = 1
    try:
        for number, name in ((1, output), (2, f"{output}.err")):
            with open(name, "wb") as stream:
                os.dup2(stream.fileno(), number)
        os.chdir(folder)
        os.environ["PWD"] = folder
        sys.argv = ["snakemake", *words]
        cli.main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
