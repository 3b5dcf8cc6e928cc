"""A bar with the time left on a terminal, a line a minute elsewhere."""

import io
import logging

import pytest

from axenat import progress
from axenat.progress import long_work


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_elsewhere_it_is_a_line_a_minute_with_the_time_left(monkeypatch, caplog, clock) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    caplog.set_level(logging.INFO)
    with long_work(1000, start=100) as advance:
        for step in range(101, 201):
            clock[0] += 1.5
            advance(step, "loss 1.5" if step % 10 == 0 else "")
    assert caplog.messages == [
        "step 140 of 1000, loss 1.5, 0:21:30 left",
        "step 180 of 1000, loss 1.5, 0:20:30 left",
    ]


def test_the_end_is_told_in_any_case(monkeypatch, caplog, clock) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    caplog.set_level(logging.INFO)
    with long_work(2) as advance:
        advance(1)
        advance(2, "loss 1")
    assert caplog.messages == ["step 2 of 2, loss 1, 0:00:00 left"]


def test_on_a_terminal_it_is_a_bar(monkeypatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with long_work(4, start=1) as advance:
        advance(2)
        advance(4, "loss 1.5")
    shown = screen.getvalue()
    assert "4/4" in shown and "loss 1.5" in shown and "step/s" in shown
