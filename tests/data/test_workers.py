"""Many processes do what one does, in order, and leave nobody behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axenat.data import workers
from axenat.data.workers import CHUNKS_AHEAD, map_chunks, processes_of
from axenat.files import UserError


def squared(number: int) -> int:
    return number * number


def squared_late(number: int) -> int:
    time.sleep(0.05 if number % 3 == 0 else 0)
    return number * number


@settings(max_examples=10)
@given(st.lists(st.integers(), max_size=30), st.integers(1, 4))
def test_it_is_map(numbers, processes) -> None:
    assert list(map_chunks(squared, numbers, processes)) == [number * number for number in numbers]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_results_come_in_order_even_if_others_are_done_before(monkeypatch, start) -> None:
    monkeypatch.setattr(workers, "START", start)
    assert list(map_chunks(squared_late, range(20), 3)) == [number * number for number in range(20)]


def process_id(number: int) -> int:
    time.sleep(0.01)
    return os.getpid()


def test_one_process_or_one_chunk_is_worked_on_here_and_more_elsewhere() -> None:
    assert set(map_chunks(process_id, range(5), 1)) == {os.getpid()}
    assert list(map_chunks(process_id, [1], 8)) == [os.getpid()]
    assert os.getpid() not in set(map_chunks(process_id, range(20), 2))


@pytest.mark.parametrize("processes", [1, 3])
def test_chunks_are_taken_only_a_little_ahead(processes) -> None:
    taken = []
    results = map_chunks(squared, (taken.append(number) or number for number in range(1000)), processes)
    for done in range(1, 40):
        next(results)
        assert len(taken) <= done + CHUNKS_AHEAD * processes
    results.close()


def refuse_seven(number: int) -> int:
    if number == 7:
        raise UserError("line 7: not a number that we like")
    return number


@pytest.mark.parametrize("processes", [1, 2])
def test_what_a_worker_refuses_is_refused_here_in_its_words_after_all_results_before(processes) -> None:
    results = map_chunks(refuse_seven, range(100), processes)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(UserError, match=r"^line 7: not a number that we like$"):
        next(results)
    assert not multiprocessing.active_children()


def numbers_until_five():
    yield from range(5)
    raise UserError("the sixth line is missing")


@pytest.mark.parametrize("processes", [1, 2])
def test_what_the_reader_refuses_ends_all(processes) -> None:
    with pytest.raises(UserError, match="sixth line"):
        list(map_chunks(squared, numbers_until_five(), processes))
    assert not multiprocessing.active_children()


def killed_at_seven(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does if memory runs out
    return number


def test_a_worker_that_is_killed_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"^a worker process was killed.*memory.*smaller --threads$"):
        list(map_chunks(killed_at_seven, range(100), 2))
    assert not multiprocessing.active_children()


def test_whoever_stops_taking_results_stops_the_workers() -> None:
    results = map_chunks(squared, range(10**9), 2)
    assert next(results) == 0
    results.close()
    assert not multiprocessing.active_children()


LONG_WORK = """
import itertools, sys, time
from axenat.data.workers import map_chunks

def work(number):
    time.sleep(0.05 if sys.argv[1] == "busy" else 0)
    return number

try:
    for number in map_chunks(work, itertools.count(), 2):
        print(number, flush=True)
        time.sleep(0.05 if sys.argv[1] == "idle" else 0)
except KeyboardInterrupt:
    sys.exit(130)
"""


def children_of(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_running(process: int) -> bool:
    """One that ended and that nobody asked about is not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("to_group", [True, False])
@pytest.mark.parametrize("workers_are", ["busy", "idle"])
def test_a_signal_leaves_no_orphans_and_no_complaints(number, to_group, workers_are) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_WORK, workers_are],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    while int(process.stdout.readline()) < 5:
        pass
    children = children_of(process.pid)
    assert len(children) == 2
    (os.killpg if to_group else os.kill)(process.pid, number)
    process.wait(20)
    end = time.monotonic() + 20
    while any(map(is_running, children)):
        assert time.monotonic() < end
        time.sleep(0.01)
    if not (to_group and number == signal.SIGTERM):  # which of them hears first is a matter of luck
        assert process.stderr.read() == b""
    process.stdout.close()
    process.stderr.close()


def test_all_cores_are_those_that_this_process_may_use() -> None:
    before = os.sched_getaffinity(0)
    assert processes_of(None) == len(before) and processes_of(3) == 3
    code = "from axenat.data.workers import processes_of; print(processes_of(None))"
    command = ["taskset", "-c", str(min(before)), sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"1\n"
    for number in (0, -1):
        with pytest.raises(UserError, match=f"--threads {number}: must be at least 1"):
            processes_of(number)


def test_workers_need_no_torch() -> None:
    modules = ("cleaning", "learning", "encoding", "workers", "lines")
    names = ", ".join(f"axenat.data.{name}" for name in modules)
    code = f"import sys, {names}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path("/")).returncode == 0
