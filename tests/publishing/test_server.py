"""Real servers, real databases and real trainings: what a store goes through, no run notices and nothing loses."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from axenat.files import UserError, read_json, read_lines
from tests.publishing.made import Store, make_run, send
from tests.publishing.test_follow import wait_until
from tests.support import warm
from tests.train.demo_run import DemoData, DemoRun

pytestmark = pytest.mark.slow
SMALL = {"tokens_per_step": 128, "tokens_per_batch": 128, "warmup_steps": 10}
TRAIN = {"steps": 150, "validate_every": 50, "log_every": 2, "keep_best": 2, **SMALL}


@contextmanager
def mlflow_server(folder: Path, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Up and answering, in a group of its own; it is gone afterwards, however it went."""
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder}/server.db", "--artifacts-destination", f"{folder}/artifacts",
    ]  # fmt: skip
    quiet = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **quiet}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_until(lambda: server.poll() is not None or answers(port), 300)
        assert server.poll() is None, (folder / "server.log").read_text()
        yield server
    finally:
        kill(server)


def kill(server: "subprocess.Popen[bytes]") -> None:
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Watched:
    """A training whose moments are ours: it stands still where we look, however fast the machine is."""

    def __init__(self, run: DemoRun, log: Path) -> None:
        self.run, self.log = run, log
        with log.open("w") as stream:
            self.process = warm.Process(run.command(), stderr=stream)

    def trains_on(self) -> None:
        """Some lines further, and stands still again."""
        before = len(self.run.speed())
        self.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(self.run.speed()) > before + 2, 300)
        self.process.send_signal(signal.SIGSTOP)

    def says(self, words: str) -> None:
        wait_until(lambda: words in self.log.read_text(), 300)

    def ends(self) -> int:
        self.process.send_signal(signal.SIGCONT)
        return self.process.wait(timeout=600)


def test_a_server_killed_in_the_middle_of_a_training_loses_nothing_and_changes_no_weight(
    tmp_path, monkeypatch, capfd
) -> None:
    data, port = DemoData(tmp_path / "data"), free_port()
    undisturbed = DemoRun(data, tmp_path / "undisturbed", **TRAIN)
    code, said = undisturbed.train()
    assert code == 0, said
    run = DemoRun(data, tmp_path / "results/runs/axe-distilled", **TRAIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:secret@127.0.0.1:{port}")
    monkeypatch.setenv("AXENAT_FOLLOW_SECONDS", "0.5")
    with mlflow_server(tmp_path, port) as server:
        training = Watched(run, tmp_path / "said")
        training.trains_on()
        wait_until(lambda: Store().runs() != {}, 300)
        kill(server)
    training.says("MLflow did not answer")
    training.trains_on()
    with mlflow_server(tmp_path, port):
        training.says("MLflow answers again")
        live = len(Store().curve("axe-distilled", "train/loss"))
        assert training.ends() == 0, training.log.read_text()
        send("axe-distilled")
        assert "secret" not in "".join(capfd.readouterr()) + training.log.read_text(), "MLflow shows addresses of runs"
        store = Store()
        steps = [step for step, _ in store.curve("axe-distilled", "train/loss")]
        status, files = store.runs()["axe-distilled"].info.status, store.files("axe-distilled")
    assert 0 < live < len(steps), "some lines came while it trained, the others afterwards"
    assert steps == list(range(2, TRAIN["steps"] + 1, 2)), "each line once"
    assert status == "FINISHED" and {"history.jsonl", "plots/training.svg"} <= files
    assert run.outcome() == undisturbed.outcome()
    best = [read_json(one.folder / "best.json")["checkpoints"] for one in (run, undisturbed)]
    assert [entry["sha256"] for entry in best[0]] == [entry["sha256"] for entry in best[1]]


PIPES = ("stdin", "stdout", "stderr")
STARTER = """
import sys
import mlflow.tracking
from tests.publishing.made import send
print("ready", flush=True)
sys.stdin.readline()
send(sys.argv[1])
"""


def test_four_jobs_starting_on_a_fresh_database_all_tell_their_story(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]))
    names = [f"run{number}" for number in range(4)]
    for name in names:
        make_run(tmp_path / "results", name, [3.0, 2.0])
    jobs = [
        subprocess.Popen([sys.executable, "-c", STARTER, name], text=True, **dict.fromkeys(PIPES, subprocess.PIPE))
        for name in names
    ]
    for job in jobs:  # all are up before the first begins
        assert job.stdout is not None and job.stdout.readline() == "ready\n"
    for job in jobs:
        assert job.stdin is not None
        job.stdin.write("go\n")
        job.stdin.flush()
    said = [job.communicate(timeout=600)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0, 0, 0], said
    runs = Store().runs()
    assert runs.keys() == {"toy", *(f"{name}{stage}" for name in names for stage in ("", "/tune", "/score/test/ell5"))}
    assert {runs[name].data.tags["mlflow.parentRunId"] for name in names} == {runs["toy"].info.run_id}
    for name in names:
        lines = read_lines(tmp_path / "results/runs" / name / "history.jsonl")
        assert len(Store().curve(name, "valid/loss")) == len(lines)


def test_a_job_that_is_killed_while_it_creates_a_fresh_database_leaves_no_half_of_it(tmp_path, monkeypatch) -> None:
    """As a training that ends before its follower has come so far, on a machine with much to do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]))
    make_run(tmp_path / "results", "one", [3.0, 2.0])
    with subprocess.Popen([sys.executable, "-c", STARTER, "one"], text=True, stdin=subprocess.PIPE) as job:
        assert job.stdin is not None
        job.stdin.write("go\n")
        job.stdin.flush()
        wait_until(lambda: any(path.stat().st_size > 50_000 for path in tmp_path.glob(".mlflow.db.new")))
        job.kill()
    assert not (tmp_path / "mlflow.db").exists()
    send("one")
    assert "one" in Store().runs() and not [*tmp_path.glob(".mlflow.db*")]


@pytest.mark.parametrize("kind", ["folder", "damaged", "half"])
def test_a_database_that_is_none_is_one_sentence_at_once(tmp_path, monkeypatch, kind) -> None:
    """MLflow alone tries for minutes, and ends with a long account of it."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{place}")
    make_run(tmp_path / "results", "one", [3.0, 2.0])
    if kind == "folder":
        place.mkdir()
    elif kind == "damaged":
        place.write_bytes(b"no database at all" * 50)
    else:
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute("create table experiments (id)")
    said = {"folder": "is no file", "damaged": "is damaged", "half": "lacks tables of MLflow"}[kind]
    with pytest.raises(UserError, match=f"mlflow.db {said}.*; move it away, and `axenat publish` fills a new one"):
        send("one")
