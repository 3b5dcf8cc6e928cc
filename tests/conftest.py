"""One way of testing for the whole house: one thread, the same examples everywhere, no stopwatch on them.

A SIGTERM ends the suite. Without a handler it ends the process; a test whose code has a handler of its own, as a
training has, is the last one.
"""

import functools
import os
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels for GPUs run on the CPU; read when they are defined

# Jobs in the background of a shell are born deaf to Ctrl-C, and so would be what they start to test it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("axenat", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("axenat")

_terminated: list[int] = []
_plain_signal = signal.signal


def _signal(number: int, handler: Any) -> Any:
    """`signal.signal`, but that a SIGTERM is noted before its handler is called."""
    if number != signal.SIGTERM or not callable(handler) or hasattr(handler, "is_noted"):
        return _plain_signal(number, handler)

    @functools.wraps(handler)
    def noted(*arguments: Any) -> Any:
        _terminated.append(number)
        return handler(*arguments)

    noted.is_noted = True  # type: ignore[attr-defined]
    return _plain_signal(number, noted)


signal.signal = _signal


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    result = yield
    if _terminated:
        item.session.shouldstop = "SIGTERM"
    return result  # type: ignore[return-value]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, then those with many: no worker is left alone with a long one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in slow, -sizes[item.path]))


@pytest.fixture
def sends_itself_sigterm() -> Iterator[None]:
    """For a test that means its SIGTERM."""
    yield
    _terminated.clear()
