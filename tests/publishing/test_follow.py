"""A training is followed by a process of its own: it tells what is new, and no store can hurt the training."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest

from axenat import tracking
from axenat.files import UserError, write_text
from axenat.publishing import follow
from axenat.publishing.run_files import SYSTEM
from axenat.publishing.system import Machine
from tests.publishing.made import as_while_it_trains, jsonl, make_run, send, valid


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def often(monkeypatch) -> None:
    monkeypatch.setenv("AXENAT_FOLLOW_SECONDS", "0.3")


def test_lines_appear_in_mlflow_under_their_study_while_they_are_written(folder, store, often, monkeypatch) -> None:
    monkeypatch.setenv("AXENAT_STUDY", "toy")
    place = make_run(folder / "results", "live", [3.0])
    as_while_it_trains(place)
    send("live", flags=("--failed",))
    with follow.following(place):
        wait_until(lambda: store.runs()["live"].info.status == "RUNNING")
        assert store.runs()["toy"].info.status == "RUNNING", "what had failed goes on"
        with (place / "checkpoints/history.jsonl").open("a") as stream:
            stream.write(jsonl(valid(20, 2.5)))
        wait_until(lambda: len(store.curve("live", "valid/loss")) == 2)
    run = store.runs()["live"]
    assert run.info.status == "RUNNING" and run.data.tags["study"] == "toy"
    assert run.data.tags["mlflow.parentRunId"] == store.ids()["toy"]
    assert store.curve("live", "valid/loss") == [(10, 3.0), (20, 2.5)]
    assert store.curve("live", "system/process_memory_megabytes")


@contextmanager
def silent_server() -> Iterator[tuple[str, socket.socket]]:
    """It accepts every connection, in the backlog of the kernel, and never answers one."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        yield f"http://127.0.0.1:{server.getsockname()[1]}", server


@pytest.fixture
def dead_server(monkeypatch) -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    return address


def test_a_training_ends_at_once_whatever_its_store_is_waiting_for(folder, often, monkeypatch) -> None:
    place = make_run(folder / "results", "patient", [3.0])
    as_while_it_trains(place)
    with silent_server() as (address, server):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "600")
        server.settimeout(120)
        with follow.following(place):
            asked, _ = server.accept()  # from here on the sender waits for an answer
            assert asked.recv(1) == b"G"
        asked.settimeout(60)
        while asked.recv(4096):
            pass  # until its end of the line is closed: the sender is gone, minutes before it would have given up
        asked.close()


FAILING = """
import logging, sys
from pathlib import Path
from axenat.publishing import follow
logging.basicConfig(format="%(message)s", level=logging.INFO)
answers = iter(["refused", "refused", None, None, "refused"])
moments = []
def send(folder):
    moments.append(follow.time.now)
    return next(answers)
class Clock:
    now = 0.0
    def monotonic(self): return self.now
    def sleep(self, seconds): self.now += seconds
class Machine:
    def __init__(self, *arguments): pass
    def sample(self): return {"time": follow.time.now}
follow.time, follow._try_to_send, follow.Machine = Clock(), send, Machine
try:
    follow.follow(Path(sys.argv[1]), 0, 60.0)
except StopIteration:
    print(*moments)
"""


def test_a_store_that_fails_is_asked_less_and_less_often_until_it_answers(tmp_path) -> None:
    """With a clock of its own, since minutes pass."""
    (tmp_path / "checkpoints").mkdir()
    command = [sys.executable, "-c", FAILING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert [float(moment) for moment in done.stdout.split()] == [60, 180, 420, 480, 540, 660], done.stderr
    assert done.stderr.count("did not answer (refused)") == 2, "told once, until it has answered again"
    assert done.stderr.count("MLflow answers again") == 1


TRAINING = """
import sys, time
from pathlib import Path
from axenat.publishing.follow import following
with following(Path(sys.argv[1])):
    time.sleep(3600)
"""


def test_the_follower_ends_with_a_training_that_is_killed(folder, often, dead_server) -> None:
    place = make_run(folder / "results", "killed", [3.0])
    as_while_it_trains(place)
    training = subprocess.Popen([sys.executable, "-c", TRAINING, str(place)])
    wait_until((place / "checkpoints" / SYSTEM).exists)
    (follower,) = psutil.Process(training.pid).children()
    training.send_signal(signal.SIGKILL)
    training.wait()
    wait_until(lambda: not follower.is_running() or follower.status() == psutil.STATUS_ZOMBIE)


def test_the_follower_gives_way_to_the_training_and_hears_none_of_its_signals(folder, often, dead_server) -> None:
    started: list[int] = []
    start = follow._start
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(follow, "_start", lambda place: started.append((process := start(place)).pid) or process)
        with follow.following(make_run(folder / "results", "live", [3.0])):
            (pid,) = started
            assert os.getpriority(os.PRIO_PROCESS, pid) == 19
            assert os.getsid(pid) == os.getsid(0), "or its priority counts for nothing beside ours"
            assert os.getpgid(pid) != os.getpgid(0), "which Ctrl-C is for"


def test_a_follower_that_cannot_start_stops_nobody(folder, monkeypatch, caplog) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    done = []
    with follow.following(folder / "results/runs/axe"):
        done.append("trained")
    assert done == ["trained"] and "this training is not followed (No such file or directory)" in caplog.text


def test_a_sample_after_half_a_line_has_a_line_of_its_own(tmp_path) -> None:
    write_text(tmp_path / "checkpoints" / SYSTEM, '{"time": 1.0}\n{"ti')
    follow.append_sample(tmp_path, {"time": 2.0})
    follow.append_sample(tmp_path, {"time": 3.0})
    lines = (tmp_path / "checkpoints" / SYSTEM).read_text().splitlines()
    assert lines == ['{"time": 1.0}', '{"ti', '{"time": 2.0}', '{"time": 3.0}']


def test_the_machine_is_told_in_numbers(tmp_path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        sample = Machine(other.pid, tmp_path).sample()
    assert json.loads(json.dumps(sample)) == sample
    assert 0 < sample["process_memory_megabytes"] < sample["system_memory_usage_megabytes"]
    assert 0 < sample["system_memory_usage_percentage"] < 100 and 0 <= sample["cpu_utilization_percentage"] <= 100


def test_a_server_that_is_down_or_silent_is_one_sentence(folder, dead_server, monkeypatch) -> None:
    with pytest.raises(UserError) as caught:
        send("axe")
    assert str(caught.value).startswith(f"MLflow at {dead_server} did not take the runs") and "\n" not in str(
        caught.value
    )
    with silent_server() as (address, _):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
        with pytest.raises(UserError, match="did not take the runs") as caught:
            send("axe")
        assert "\n" not in str(caught.value)


def test_credentials_are_never_shown(folder, monkeypatch, capsys) -> None:
    with silent_server() as (address, _):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address.replace("://", "://me:secret@") + "?token=secret")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
        with pytest.raises(UserError) as caught:
            send("axe")
    assert "secret" not in str(caught.value) and address in str(caught.value)
    shown = tracking.without_credentials("no way to postgresql://me:p@ss@host:5432/runs?password=secret at all")
    assert shown == "no way to postgresql://host:5432/runs at all"
    plain = "sqlite:////tmp/a@b/mlflow.db"
    assert tracking.without_credentials(plain) == plain


def test_the_default_store_is_the_one_that_mlflow_ui_opens(folder, monkeypatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert tracking.tracking_uri() == f"sqlite:///{folder.resolve()}/mlflow.db"
