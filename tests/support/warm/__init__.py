"""Commands without their seconds of imports: a server imports the libraries once, and forks for each call.

A command called this way has its own process, arguments, folder, environment, streams, signals and exit code. What it
shares with its neighbours is the server's imports and the seed of its hashes. Tests of what happens while a program
starts, of memory, or of many kinds of death call the real command.
"""

import atexit
import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COMMANDS = ("axenat", "dvc", "sacrebleu", "snakemake", "torchrun")
HERE = Path(__file__).parent


def commands(hash_seed: int = 0) -> Path:
    """A folder of commands, for the beginning of PATH. Another seed is another server, with sets in another order."""
    return _started(hash_seed)


@functools.cache
def _started(hash_seed: int) -> Path:
    """The server ends with this process, whose end it notices by its standard input."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    for name in COMMANDS:
        program = f"#!{sys.executable} -IS\n" + (HERE / "client.py").read_text(encoding="utf-8")
        (folder / name).write_text(program, encoding="utf-8")
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment |= {"OMP_NUM_THREADS": "1", "DVC_NO_ANALYTICS": "true"}
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), str(folder)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    atexit.register(server.communicate)
    return folder


def axenat() -> str:
    """The path of the command."""
    return str(commands() / "axenat")


def path(hash_seed: int = 0) -> str:
    """PATH with these commands first, and then this environment's, as after `source .venv/bin/activate`."""
    return os.pathsep.join([str(commands(hash_seed)), str(Path(sys.executable).parent), os.environ["PATH"]])


class Process(subprocess.Popen[str]):
    """A call of `axenat`. A signal goes to the process that works, not to the one that waits for it."""

    def __init__(self, words: list[str], **options: Any) -> None:
        super().__init__([axenat(), *words], text=True, **options)

    def send_signal(self, sig: int) -> None:
        note = commands() / f"pid-{self.pid}"
        while self.poll() is None and not note.exists():
            time.sleep(0.005)
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            os.kill(int(note.read_text()), sig)
