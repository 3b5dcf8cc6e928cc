"""One progress bar for the whole house: a bar on a terminal; elsewhere silence, or a line a minute."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol, TypeVar

T = TypeVar("T")
Total = int | None | Callable[[], int | None]
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


def in_bytes(number: int) -> str:
    """As people read sizes: 1.5 GB."""
    amount, units = float(number), ["B", "kB", "MB", "GB"]
    while amount >= 999.95 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    return f"{amount:.1f} {units[0]}" if units[0] != "B" else f"{number} B"


@contextmanager
def long_work(total: Total, *, start: int = 0, unit: str = "step", tell_end: bool = True) -> Iterator[Advance]:
    """Call what it gives with the number done: a bar with the time left, or a line a minute with the same.

    A total that nobody knows is None; one that shows on the way is a function. The unit B is shown in kB, MB and GB.
    """
    if not sys.stderr.isatty():
        yield _Lines(total, start, unit, tell_end)
        return
    from tqdm import tqdm
    from tqdm.contrib.logging import logging_redirect_tqdm

    scaled = unit == "B"
    with (
        tqdm(total=_now(total), initial=start, unit=unit, unit_scale=scaled, dynamic_ncols=True) as bar,
        logging_redirect_tqdm(),
    ):

        def advance(done: int, note: str = "") -> None:
            if note:
                bar.set_postfix_str(note, refresh=False)
            bar.total = _now(total)
            bar.update(done - bar.n)

        yield advance


def _now(total: Total) -> int | None:
    return total() if callable(total) else total


class _Lines:
    def __init__(self, total: Total, start: int, unit: str, tell_end: bool) -> None:
        self.total, self.first, self.unit, self.tell_end = total, start, unit, tell_end
        self.begin = self.told = time.monotonic()
        self.note = ""

    def __call__(self, done: int, note: str = "") -> None:
        self.note = note or self.note
        now, total = time.monotonic(), _now(self.total)
        ended = self.tell_end and done == total
        if now - self.told < LINE_SECONDS and not ended:
            return
        self.told = now
        words = [self._reached(done), self.note]
        if total is not None:
            left = (now - self.begin) / max(1, done - self.first) * (total - done)
            end = in_bytes(total) if self.unit == "B" else str(total)
            words = [f"{words[0]} of {end}", self.note, f"{timedelta(seconds=round(left))} left"]
        log.info("%s", ", ".join(word for word in words if word))

    def _reached(self, done: int) -> str:
        return in_bytes(done) if self.unit == "B" else f"{self.unit} {done}"
