"""Imports what commands need, and forks for each call; see the package."""

import atexit
import contextlib
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
import traceback
from typing import Any

from axenat.cli import STAGES

# Where each command begins.
ENTRIES = {
    "axenat": ("axenat.cli", "main"),
    "dvc": ("dvc.cli", "main"),
    "sacrebleu": ("sacrebleu.sacrebleu", "main"),
    "snakemake": ("snakemake.cli", "main"),
    "torchrun": ("torch.distributed.run", "main"),
}
# What each imports when it is at work, and libraries when they are first used.
MODULES = {
    "axenat": (
        "ctranslate2",
        "matplotlib.backends.backend_svg",
        "mlflow.store.model_registry.sqlalchemy_store",
        "mlflow.store.tracking.sqlalchemy_store",
        "numba",
        "onnxruntime",
        "pandas",
        "torch._dynamo",
        *(f"axenat.stages.{name}" for name in STAGES),
    ),
    "dvc": ("dulwich.porcelain", "dvc.cli.parser", "dvc.repo.experiments", "networkx", "ruamel.yaml"),
    "sacrebleu": (),
    "snakemake": (
        "docutils.core",
        "snakemake.profiles",
        "snakemake.report.html_reporter",
        "snakemake.storage",
        "xml.etree.ElementTree",
    ),
    "torchrun": (),
}
READ_AT_START = ("PYTHONPATH", "PYTHONSTARTUP", "TRITON_INTERPRET")


class Server:
    def __init__(self, folder: str) -> None:
        self.folder, self.running = folder, dict[int, socket.socket]()
        self.imported: set[str] = set()
        self.selector = selectors.DefaultSelector()
        awake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        # A Ctrl-C for all is for those who are at work.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.selector.register(awake, selectors.EVENT_READ, lambda: self.reap(awake))
        self.selector.register(sys.stdin, selectors.EVENT_READ, self.end)

    def serve(self) -> Any:
        """Returns in the process of a call, with what is to be called."""
        with open(os.path.join(self.folder, "environment.part"), "w", encoding="utf-8") as stream:
            json.dump({key: os.environ.get(key) for key in READ_AT_START}, stream)
        os.replace(os.path.join(self.folder, "environment.part"), os.path.join(self.folder, "environment.json"))
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(os.path.join(self.folder, "socket.part"))
        listening.listen(64)
        os.replace(os.path.join(self.folder, "socket.part"), os.path.join(self.folder, "socket"))
        self.selector.register(listening, selectors.EVENT_READ, lambda: self.accept(listening))
        while True:
            for key, _ in self.selector.select():
                call, server = None, os.getpid()
                try:
                    call = key.data()
                except Exception:
                    # One call that goes wrong is no reason to end all others.
                    if os.getpid() != server:
                        raise
                    traceback.print_exc()
                if call is not None:
                    listening.close()
                    return call

    def accept(self, listening: socket.socket) -> Any:
        connection = listening.accept()[0]
        head, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
        text, length = b"", int.from_bytes(head, "big")
        while len(text) < length and (more := connection.recv(length - len(text))):
            text += more
        if len(descriptors) < 3 or len(text) < length:
            connection.close()
            return None
        request = json.loads(text)
        self.import_for(request["name"])
        process = os.fork()
        if not process:
            return self.begin(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self.running[process] = connection
        self.selector.register(connection, selectors.EVENT_READ, lambda: self.deserted(process))
        # Whoever called it may be gone; `deserted` will hear of it.
        with contextlib.suppress(OSError):
            connection.sendall(process.to_bytes(8, "big"))
        return None

    def import_for(self, name: str) -> None:
        """Before the first call of a command, and for all calls that follow."""
        if name not in self.imported:
            for module in (ENTRIES[name][0], *MODULES[name]):
                importlib.import_module(module)
            self.imported.add(name)
            gc.freeze()

    def begin(self, request: dict[str, Any], descriptors: list[int]) -> Any:
        """The process of the call, with nothing left of the server but its imports."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
            os.close(descriptor)
        open_streams()
        for connection in self.running.values():
            connection.close()
        self.selector.close()
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        module, function = ENTRIES[request["name"]]
        sys.argv = [os.path.join(os.path.dirname(sys.executable), request["name"]), *request["words"]]
        sys.path[0] = os.path.dirname(sys.argv[0])
        return getattr(importlib.import_module(module), function)

    def deserted(self, process: int) -> None:
        """Whoever called it was killed."""
        if process in self.running:
            os.kill(process, signal.SIGKILL)
            self.selector.unregister(self.running[process])

    def reap(self, awake: int) -> None:
        os.read(awake, 4096)
        while self.running:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            connection = self.running.pop(process, None)
            if connection is None:  # what an import has started
                continue
            if connection in self.selector.get_map():
                self.selector.unregister(connection)
            with contextlib.suppress(OSError):
                connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True))
            connection.close()

    def end(self) -> None:
        """The tests are over, however they ended."""
        for process in self.running:
            os.kill(process, signal.SIGKILL)
        shutil.rmtree(self.folder)
        os._exit(0)


def open_streams() -> None:
    """As the interpreter does when it starts: those of the server know whether its own files could seek."""
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )


def as_program(main: Any) -> None:
    """As the interpreter does it: the exit code, the traceback, and what was put off to the end."""
    code: Any
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        traceback.print_exc()
        code = -signal.SIGINT
    except BaseException:
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    if code is not None and code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    as_program(Server(sys.argv[1]).serve())
