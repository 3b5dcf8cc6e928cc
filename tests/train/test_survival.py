"""Killed, preempted, damaged or without room: a training ends with the bytes that it would have ended with."""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.train.demo_run import AXENAT, DemoData, DemoRun, wait_for

pytestmark = pytest.mark.slow
KILLS, PREEMPTIONS = 16, 6
OFTEN = ("--save-minutes", "0.005")
TRAIN = {"steps": 90, "validate_every": 15, "log_every": 3, "keep_best": 3}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> DemoData:
    return DemoData(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory) -> tuple[str, str]:
    """Model and history of a training that nobody disturbs."""
    run = DemoRun(data, tmp_path_factory.mktemp("whole"), **TRAIN)
    code, said = run.train()
    assert code == 0, said
    return run.outcome()


def test_results_that_a_workflow_deleted_are_back_without_training(data, expected, tmp_path) -> None:
    """As after its death: the job has ended well, and the next workflow knows nothing of it."""
    run = DemoRun(data, tmp_path, **TRAIN)
    assert run.train()[0] == 0
    for name in ("best.json", "history.jsonl", "valid.csv"):
        (tmp_path / name).unlink()
    code, said = run.train()
    assert code == 0 and f"resuming after step {TRAIN['steps']} of {TRAIN['steps']}" in said
    assert run.outcome() == expected and run.states() == [], "in use now, and forced once more it trains"


def being_written(folder: Path) -> bool:
    try:
        return any(name.startswith(".state-") for name in os.listdir(folder))
    except FileNotFoundError:
        return False


def test_a_run_killed_at_many_moments_ends_with_the_same_bytes(data, expected, tmp_path) -> None:
    run, moments = DemoRun(data, tmp_path, **TRAIN), random.Random(4)
    caught_writing = 0
    for kill in range(KILLS):
        process = run.start(*OFTEN)
        if kill % 2:  # while a state is being written
            wait_for(lambda: being_written(run.checkpoints), process, pause=0)
        else:
            time.sleep(moments.uniform(0.1, 0.8))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        caught_writing += being_written(run.checkpoints)
    code, said = run.train(*OFTEN)
    assert code == 0, said
    assert caught_writing >= 3, "too few kills hit a write"
    assert run.outcome() == expected
    assert not list(run.checkpoints.glob(".*")), "half-written files are tidied away"


def test_a_run_preempted_many_times_ends_with_the_same_bytes(data, expected, tmp_path) -> None:
    run, codes, steps = DemoRun(data, tmp_path, **TRAIN), [], []
    for number in range(PREEMPTIONS):
        process = run.start()
        before = len(run.speed())
        wait_for(lambda before=before: len(run.speed()) > before + 1, process)
        process.send_signal((signal.SIGTERM, signal.SIGUSR1)[number % 2])
        said = process.communicate(timeout=60)[1]
        codes.append(process.returncode)
        assert "axenat train: asked to stop: saved after step" in said
        steps.append(int(run.states()[-1].stem.split("-")[1]))
    assert codes == [75] * PREEMPTIONS
    assert steps == sorted(set(steps)), "each time further"
    code, said = run.train()
    assert code == 0 and f"resuming after step {steps[-1]} of {TRAIN['steps']}" in said
    assert run.outcome() == expected


def test_a_signal_to_the_whole_job_with_its_workers_is_taken_as_well(data, expected, tmp_path) -> None:
    """As a scheduler sends it. Batches made by workers are the same as others."""
    run = DemoRun(data, tmp_path, **TRAIN)
    process = run.start("--workers", "2", launcher=AXENAT, start_new_session=True)
    wait_for(lambda: len(run.speed()) >= 3, process)
    os.killpg(process.pid, signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 75 and "Traceback" not in said, said
    assert run.train("--workers", "2")[0] == 0
    assert run.outcome() == expected
    code, said = run.train()
    assert code == 0 and "is trained already; delete its best.json and checkpoints to train it again" in said
    assert run.outcome() == expected


def preempted(run: DemoRun) -> dict[str, bytes]:
    """Some way into the training: its two states."""
    process = run.start(*OFTEN)
    wait_for(lambda: len(run.states()) == 2, process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 75
    return contents(run)


def contents(run: DemoRun) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.states()}


def test_a_damaged_newest_state_gives_way_to_the_one_before(data, expected, tmp_path) -> None:
    run = DemoRun(data, tmp_path, **TRAIN)
    preempted(run)
    older, newest = run.states()
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    code, said = run.train()
    assert code == 0
    assert f"{newest}: its content does not fit its checksum; the state before it is used" in said
    assert f"resuming after step {int(older.stem.split('-')[1])} of" in said
    assert run.outcome() == expected


def test_a_limit_on_files_is_one_sentence_and_what_was_saved_is_intact(data, expected, tmp_path) -> None:
    run = DemoRun(data, tmp_path, **TRAIN)
    states = preempted(run)
    limit = len(next(iter(states.values()))) // 2
    allowed = (limit, limit)
    code, said = run.train(launcher=AXENAT, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, allowed))
    assert_told(code, said, "File too large")
    assert contents(run) == states
    assert run.train()[0] == 0
    assert run.outcome() == expected


def assert_told(code: int, said: str, reason: str) -> None:
    last = said.splitlines()[-1]
    assert code == 2 and "Traceback" not in said
    assert f"checkpoints: {reason} after step" in last and "make room and run the same command again" in last


SMALL_DISK = """
set -e
mount -t tmpfs -o size=24m none "$1"; cd "$1"
cp -r ../begun/. .
head -c {filled} /dev/zero > filler
shift
"$@" && exit 1 || code=$?
rm filler
cp -r . ../after
exit $code
"""


def test_a_full_disk_is_one_sentence_and_what_was_saved_is_intact(data, expected, tmp_path) -> None:
    private = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*private, "true"], capture_output=True).returncode:
        pytest.skip("no file system of one's own can be mounted here")
    begun, disk = DemoRun(data, tmp_path / "begun", **TRAIN), tmp_path / "disk"
    states = preempted(begun)
    disk.mkdir()
    used = sum(path.stat().st_size for path in begun.folder.rglob("*") if path.is_file())
    filled = (
        24 * 2**20 - used - len(next(iter(states.values()))) // 2
    )  # room for the results of a few steps, but for no state
    on_disk = DemoRun(data, disk, **TRAIN)
    script = ["sh", "-c", SMALL_DISK.format(filled=filled), "sh", str(disk), *AXENAT]
    code, said = on_disk.train(launcher=[*private, *script])
    assert_told(code, said, "No space left on device")
    after = DemoRun(data, tmp_path / "after", **TRAIN)
    assert contents(after) == states
    assert after.train()[0] == 0
    assert after.outcome() == expected
