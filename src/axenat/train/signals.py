"""A polite end: asked to stop, a training saves its state and leaves with a code that means "run me again"."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from axenat.files import UserError

# What schedulers send before a time limit or a preemption.
SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
LOOK_SECONDS = 1.0


class PreemptedError(UserError):
    """Not a failure: the same command goes on where this one stopped."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h, "try again later"


class Request:
    """Has somebody asked to stop, by a signal, or by a file where signals do not reach?"""

    def __init__(self, file: Path) -> None:
        self.file, self.signal, self.looked = file, 0, 0.0

    def take(self, number: int, frame: FrameType | None) -> None:
        self.signal = number

    def made(self) -> bool:
        if not self.signal and time.monotonic() - self.looked > LOOK_SECONDS:
            self.looked = time.monotonic()
            return self.file.exists()
        return bool(self.signal)


@contextmanager
def listening(file: Path) -> Iterator[Request]:
    request = Request(file)
    if threading.current_thread() is not threading.main_thread():  # only there signals can be taken
        yield request
        return
    before = {number: signal.signal(number, request.take) for number in SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
