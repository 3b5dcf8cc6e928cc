"""One progress bar for the whole house: a bar on a terminal; elsewhere silence, or a line a minute."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)
LINE_SECONDS = 60.0


def progress(iterable: Iterable[T], *, total: int | None = None, desc: str = "") -> Iterator[T]:
    if not sys.stderr.isatty():
        yield from iterable
        return
    from tqdm import tqdm  # only here, so that the command line stays light

    yield from tqdm(iterable, total=total, desc=desc, dynamic_ncols=True, leave=False)


class Advance(Protocol):
    def __call__(self, done: int, note: str = "") -> None: ...


@contextmanager
def long_work(total: int | None, *, start: int = 0, unit: str = "step", tell_end: bool = True) -> Iterator[Advance]:
    """Call what it gives with the number done: a bar with the time left, or a line a minute with the same.

    A total that nobody knows is None.
    """
    if not sys.stderr.isatty():
        yield _Lines(total, start, unit, tell_end)
        return
    from tqdm import tqdm
    from tqdm.contrib.logging import logging_redirect_tqdm

    with tqdm(total=total, initial=start, unit=unit, dynamic_ncols=True) as bar, logging_redirect_tqdm():

        def advance(done: int, note: str = "") -> None:
            if note:
                bar.set_postfix_str(note, refresh=False)
            bar.update(done - bar.n)

        yield advance


class _Lines:
    def __init__(self, total: int | None, start: int, unit: str, tell_end: bool) -> None:
        self.total, self.first, self.unit, self.tell_end = total, start, unit, tell_end
        self.begin = self.told = time.monotonic()
        self.note = ""

    def __call__(self, done: int, note: str = "") -> None:
        self.note = note or self.note
        now = time.monotonic()
        ended = self.tell_end and done == self.total
        if now - self.told < LINE_SECONDS and not ended:
            return
        self.told = now
        words = [f"{self.unit} {done}", self.note]
        if self.total is not None:
            left = (now - self.begin) / max(1, done - self.first) * (self.total - done)
            words = [f"{words[0]} of {self.total}", self.note, f"{timedelta(seconds=round(left))} left"]
        log.info("%s", ", ".join(word for word in words if word))
