"""What a clock says of a training arrives in its own unit, whole, and from the lines that count."""

import json

import torch

from axenat.files import write_text
from axenat.train import signals, stopwatch
from axenat.train.signals import Request
from axenat.train.speed import speed_of_lines, training_speed
from axenat.train.stopwatch import Stopwatch


class Event:
    """A GPU's: it counts milliseconds, and knows them only once it was waited for."""

    now = 0.0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing
        self.waited = False

    def record(self) -> None:
        Event.now += 1500.0
        self.at = Event.now

    def synchronize(self) -> None:
        self.waited = True

    def elapsed_time(self, end: "Event") -> float:
        assert end.waited
        return end.at - self.at


def test_parts_on_a_gpu_are_seconds_of_its_own_clock_and_add_up(monkeypatch) -> None:
    monkeypatch.setattr(stopwatch.torch.cuda, "Event", Event)
    watch = Stopwatch(torch.device("cuda"))
    for name in ("forward", "backward", "forward"):
        with watch.part(name):
            pass
    told = watch.read()
    assert (told["forward"], told["backward"]) == (3.0, 1.5)
    assert "forward" not in watch.read()


def test_parts_of_the_processor_add_up_beside_the_whole_time(monkeypatch) -> None:
    times = iter([10.0, 11.0, 13.0, 20.0, 24.0, 30.0])
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: next(times))
    watch = Stopwatch(torch.device("cpu"))
    for _ in range(2):
        with watch.part("data", on_gpu=False):
            pass
    watch.tokens = 100.0
    assert watch.read() == {"tokens_per_second": 5.0, "seconds": 20.0, "data": 6.0}


def test_one_slow_line_moves_neither_median() -> None:
    lines = [(10, 1.0, 900.0), (20, 2.0, 500.0), (30, 60.0, 10.0)]
    found = speed_of_lines([dict(zip(("step", "seconds", "tokens_per_second"), one, strict=True)) for one in lines])
    assert found == {"step_milliseconds": 200.0, "tokens_per_second": 500.0, "num_lines": 3}


def test_after_a_resumption_the_line_of_a_step_that_was_told_before_has_no_time_of_a_step() -> None:
    lines = [(10, 1.0, 900.0), (20, 2.0, 500.0), (20, 7.0, 500.0), (30, 3.0, 500.0)]
    found = speed_of_lines([dict(zip(("step", "seconds", "tokens_per_second"), one, strict=True)) for one in lines])
    assert found["step_milliseconds"] == 200.0  # of 100, 200 and 300


def test_of_several_measured_jobs_the_last_one_counts(tmp_path) -> None:
    write_text(tmp_path / "run.tsv", "s\th:m:s\n12.5\t0:00:12\n40.25\t0:00:40\n")
    assert training_speed(tmp_path, tmp_path / "run.tsv")["total_seconds"] == 40.25


def test_a_line_of_rubbish_hides_none_of_those_after_it(tmp_path) -> None:
    lines = [json.dumps({"step": step, "seconds": 1.0, "tokens_per_second": 5.0}) for step in (10, 20, 30)]
    write_text(tmp_path / "checkpoints" / "speed.jsonl", "\n".join([lines[0], '{"st', *lines[1:]]) + "\n")
    assert training_speed(tmp_path)["num_lines"] == 3


def test_who_asks_with_a_file_is_heard_within_two_seconds(tmp_path, monkeypatch) -> None:
    """A job has perhaps half a minute, of which a step and the state that is saved take most."""
    now = 1000.0
    monkeypatch.setattr(signals.time, "monotonic", lambda: now)
    request = Request(tmp_path / "leave")
    assert not request.made()
    (tmp_path / "leave").touch()
    now += 2.0
    assert request.made()
