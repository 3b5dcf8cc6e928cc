"""Tasks in a few threads: all are finished before a failure is told, and an interrupt does not wait for any of them."""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from axenat.files import UserError

T = TypeVar("T")
log = logging.getLogger(__name__)
GRACE_SECONDS = 1.0  # for tasks that look whether they should stop


def side_by_side(tasks: Sequence[Callable[[threading.Event], T]], workers: int) -> list[T]:
    """What each task gives, in their order; the event that each is called with says that nobody wants it any more.

    The first failure is raised, and others are logged. Threads are daemons: one that waits for a server without an
    answer ends with the program.
    """
    stopped, turns = threading.Event(), queue.SimpleQueue[int]()
    results: dict[int, T] = {}
    failures: dict[int, Exception] = {}

    def work() -> None:
        with suppress(queue.Empty):
            while not stopped.is_set():
                number = turns.get_nowait()
                try:
                    results[number] = tasks[number](stopped)
                except Exception as error:
                    failures[number] = error

    for number in range(len(tasks)):
        turns.put(number)
    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(tasks)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        stopped.set()
        for thread in threads:
            thread.join(GRACE_SECONDS / len(threads))
        raise
    if failures:
        first, *others = [failures[number] for number in sorted(failures)]
        for other in others:
            log.error("%s", other, exc_info=None if isinstance(other, UserError) else other)
        raise first
    return [results[number] for number in range(len(tasks))]
