"""The same function for many chunks on several cores: results in order, few chunks in memory, and a clean end."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import Any, TypeVar

from axenat.files import UserError

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

CHUNKS_AHEAD = 3  # of each process: one at work, one that waits for it, one that waits for us
# A forked process starts at once and shares what is loaded. Elsewhere than on Linux that is not safe.
START = "fork" if sys.platform == "linux" else "spawn"


def processes_of(threads: int | None) -> int:
    """What --threads asks for; by default as many as there are cores that this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise UserError(f"--threads {threads}: must be at least 1; leave it out to use all cores")
    return threads


def map_chunks(function: Callable[[Chunk], Result], chunks: Iterable[Chunk], processes: int) -> Iterator[Result]:
    """`map(function, chunks)`, worked out by so many processes; with one, or a single chunk, by this one.

    Chunks are taken no further ahead than the processes need. What one of them raises, this raises.
    """
    chunks = iter(chunks)
    first = list(islice(chunks, 2))
    chunks = chain(first, chunks)
    if min(processes, len(first)) < 2:
        yield from map(function, chunks)
        return
    context = multiprocessing.get_context(START)
    waiting: deque[Future[Result]] = deque()
    pool = ProcessPoolExecutor(processes, context, _begin, (function,))
    try:
        for chunk in chunks:
            waiting.append(pool.submit(_work, chunk))
            if len(waiting) == CHUNKS_AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        words = "a worker process was killed, perhaps for want of memory; try again with a smaller --threads"
        raise UserError(words) from None
    finally:
        pool.shutdown(cancel_futures=True)


_function: Callable[[Any], Any]  # of a worker process


def _begin(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    # Ctrl-C reaches the whole group of processes; the first of them ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed cannot say goodbye."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(chunk: Any) -> Any:
    return _function(chunk)
