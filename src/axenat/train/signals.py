"""A polite end: asked to stop, a training saves its state and leaves with a code that means "run me again"."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from axenat.files import UserError

# What schedulers send before a time limit or a preemption.
SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class PreemptedError(UserError):
    """Not a failure: the same command goes on where this one stopped."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h, "try again later"


class Request:
    """Has somebody asked to stop, and how?"""

    def __init__(self) -> None:
        self.signal = 0

    def take(self, number: int, frame: FrameType | None) -> None:
        self.signal = number


@contextmanager
def listening() -> Iterator[Request]:
    request = Request()
    if threading.current_thread() is not threading.main_thread():  # only there signals can be taken
        yield request
        return
    before = {number: signal.signal(number, request.take) for number in SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
