"""A bar with the time left on a terminal, a line a minute elsewhere."""

import io
import logging

import pytest

from axenat import progress
from axenat.progress import in_bytes, long_work


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


@pytest.mark.parametrize("terminal", [True, False])
def test_a_total_may_show_on_the_way(monkeypatch, caplog, clock, terminal) -> None:
    screen = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    caplog.set_level(logging.INFO)
    known: list[int] = []
    with long_work(lambda: sum(known) or None) as advance:
        for more in (3, 4):
            clock[0] += 61
            advance(len(known))
            known.append(more)
        clock[0] += 61
        advance(7)
    if terminal:
        assert "7/7" in screen.getvalue()
    else:
        assert [line.partition(",")[0] for line in caplog.messages] == ["step 0", "step 1 of 3", "step 7 of 7"]


def test_on_a_terminal_it_is_a_bar(monkeypatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with long_work(4, start=1) as advance:
        advance(2)
        advance(4, "loss 1.5")
    shown = screen.getvalue()
    assert "4/4" in shown and "loss 1.5" in shown and "step/s" in shown


def test_bytes_are_shown_as_people_read_them(monkeypatch, caplog, clock) -> None:
    assert [in_bytes(n) for n in (0, 999, 1000, 999_949, 999_950, 1_500_000_000, 2 * 10**12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "999.9 kB",
        "1.0 MB",
        "1.5 GB",
        "2000.0 GB",
    ]
    monkeypatch.setattr("sys.stderr", io.StringIO())
    caplog.set_level(logging.INFO)
    with long_work(3_000_000, unit="B") as advance:
        clock[0] += 61
        advance(1_000_000)
    assert caplog.messages == ["1.0 MB of 3.0 MB, 0:02:02 left"]
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with long_work(3_000_000, unit="B") as advance:
        advance(3_000_000)
    assert "3.00M/3.00M" in screen.getvalue()


@pytest.mark.parametrize("tell_end", [True, False])
def test_work_of_many_parts_may_leave_its_end_untold(monkeypatch, caplog, clock, tell_end) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    caplog.set_level(logging.INFO)
    with long_work(2, tell_end=tell_end) as advance:
        advance(2)
        assert len(caplog.messages) == tell_end
        clock[0] += 61
        advance(2)
    assert len(caplog.messages) == 1 + tell_end


def test_the_last_note_stays_until_there_is_another(monkeypatch, caplog, clock) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    caplog.set_level(logging.INFO)
    with long_work(None) as advance:
        advance(1, "loss 2")
        clock[0] += 61
        advance(2)
    assert caplog.messages == ["step 2, loss 2"]


def test_a_bar_begins_where_the_work_does(monkeypatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with long_work(4, start=1):
        pass
    assert "1/4" in screen.getvalue() and "0/4" not in screen.getvalue()
