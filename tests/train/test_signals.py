"""A training hears of signals, and of a file where signals do not reach."""

import os
import signal
import threading

import pytest

from axenat.train import signals
from axenat.train.signals import SIGNALS, Request, listening


@pytest.mark.usefixtures("sends_itself_sigterm")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_is_a_request_and_stays_one(tmp_path, number) -> None:
    with listening(tmp_path / "leave") as request:
        assert signal.getsignal(number) is not signal.SIG_DFL, "which would end this process"
        assert not request.made()
        os.kill(os.getpid(), number)
        assert [request.made() for _ in range(3)] == [True] * 3


def test_a_file_is_a_request_within_the_time_between_two_looks(tmp_path, monkeypatch) -> None:
    now = 1000.0
    monkeypatch.setattr(signals.time, "monotonic", lambda: now)
    with listening(tmp_path / "leave") as request:
        assert not request.made()
        (tmp_path / "leave").touch()
        now += 0.9 * signals.LOOK_SECONDS
        assert not request.made(), "it is not yet time for another look"
        now += 0.2 * signals.LOOK_SECONDS
        assert request.made()


def test_the_disk_is_looked_at_once_in_a_while(tmp_path, monkeypatch) -> None:
    """On a shared one, a look at every step would be felt."""

    class Counted(type(tmp_path)):  # type: ignore[misc]
        looks = 0

        def exists(self) -> bool:  # type: ignore[override]
            Counted.looks += 1
            return False

    now = 1000.0
    monkeypatch.setattr(signals.time, "monotonic", lambda: now)
    request = Request(Counted(tmp_path / "leave"))
    for looks in (1, 2, 3):
        assert not any(request.made() for _ in range(1000))
        assert Counted.looks == looks
        now += 1.1 * signals.LOOK_SECONDS


def test_handlers_are_as_before_when_it_is_over(tmp_path) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with listening(tmp_path / "leave"):
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_beside_the_main_thread_only_the_file_is_heard(tmp_path) -> None:
    heard = []

    def listen() -> None:
        (tmp_path / "leave").touch()
        with listening(tmp_path / "leave") as request:
            heard.append(request.made())

    before = [signal.getsignal(number) for number in SIGNALS]
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert heard == [True]
    assert [signal.getsignal(number) for number in SIGNALS] == before
