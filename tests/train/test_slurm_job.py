"""One copy of a training at a time, and back into the queue only from there; squeue and scontrol are stood in for."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from axenat.files import UserError, alone, read_lines
from axenat.train import slurm_job
from axenat.train.slurm_job import HOLDER, LEAVE, LOCK, requeue, state_of, the_only_one
from tests.stand_in import noting, saying, stand_in

INVALID = "slurm_load_jobs error: Invalid job id specified\n"
# What a training does with the lock, by the real code, until it is asked to leave or its input ends.
TRAINING = """
import select, sys, time
from pathlib import Path
from axenat.train import signals
from axenat.train.slurm_job import LEAVE, the_only_one
out = Path(sys.argv[1])
signals.LOOK_SECONDS = 0.05
with the_only_one(out), signals.listening(out / "checkpoints" / LEAVE) as request:
    print("in", flush=True)
    while not request.made() and not select.select([sys.stdin], [], [], 0.05)[0]:
        pass
    asked = (out / "checkpoints" / LEAVE).exists()
    time.sleep(0.3)  # saves its state
    (out / "saved").write_text("asked" if asked else "alone")
"""


@pytest.fixture(autouse=True)
def job(tmp_path, monkeypatch) -> None:
    """We are job 7, with no command of Slurm on the path and little patience with those who are not asked."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(slurm_job, "LOCK_SECONDS", 0.3)
    monkeypatch.setattr(slurm_job, "LEAVE_SECONDS", 60.0)


@contextmanager
def training(out: Path, job: str) -> Iterator[None]:
    """Another process that trains into the folder, as this job; none: outside of Slurm."""
    environment = {key: value for key, value in os.environ.items() if key != "SLURM_JOB_ID"}
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINING, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**environment, **({"SLURM_JOB_ID": job} if job else {})},
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stdout.readline() == "in\n"
        yield
    finally:
        process.communicate(timeout=60)
    assert process.returncode == 0


def squeue(tmp_path: Path, text: str, code: int = 0, to: str = "stdout") -> None:
    stand_in(tmp_path / "bin", "squeue", f"{noting(tmp_path / 'asked')}\n{saying(text, code, to)}")


def scontrol(tmp_path: Path, code: int = 0) -> None:
    stand_in(tmp_path / "bin", "scontrol", f"{noting(tmp_path / 'called')}\n{saying('no', code, 'stderr')}")


def called(tmp_path: Path) -> list[str]:
    return read_lines(tmp_path / "called") if (tmp_path / "called").exists() else []


def check_we_go_on(out: Path) -> None:
    """Alone, and in a folder as a training should find it."""
    with the_only_one(out):
        assert not (out / "checkpoints" / LEAVE).exists(), "we must not leave at once ourselves"
        assert (out / HOLDER).read_text() == os.environ.get("SLURM_JOB_ID", "")
        with pytest.raises(UserError, match="held by another process"), alone(out / LOCK, patience=0):
            pass


def check_we_are_refused(out: Path) -> None:
    """In one sentence, and without a word to the one that trains."""
    with pytest.raises(UserError) as refused, the_only_one(out):
        pass
    assert str(refused.value).startswith(f"{out / LOCK} is held by another process at the same work")
    assert not (out / "checkpoints" / LEAVE).exists()


def test_a_folder_where_nobody_trains_is_ours(tmp_path) -> None:
    (tmp_path / HOLDER).write_text("8")  # left behind; the lock is what counts
    check_we_go_on(tmp_path)
    check_we_go_on(tmp_path)


@pytest.mark.parametrize("holder", ["7", "8"], ids=["our own job", "another"])
def test_an_earlier_copy_saves_and_leaves_and_we_go_on(tmp_path, holder) -> None:
    """Our own job, cut off with its node, or one that was sent by a workflow that is gone."""
    with training(tmp_path, holder):
        check_we_go_on(tmp_path)
        assert (tmp_path / "saved").read_text() == "asked", "its state was saved before"


def test_who_does_not_leave_is_not_asked_for_ever(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(slurm_job, "LEAVE_SECONDS", 0.3)
    (tmp_path / HOLDER).write_text("8")
    with alone(tmp_path / LOCK):
        check_we_are_refused(tmp_path)


@pytest.mark.parametrize(("theirs", "ours"), [("", "7"), ("7", ""), ("", "")])
def test_outside_of_slurm_nobody_asks_and_nobody_is_asked(tmp_path, monkeypatch, theirs, ours) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", ours)
    with training(tmp_path, theirs):
        check_we_are_refused(tmp_path)


def test_who_was_killed_holds_nothing(tmp_path) -> None:
    code = "import sys, time; from pathlib import Path; from axenat.train.slurm_job import the_only_one\n"
    code += "with the_only_one(Path(sys.argv[1])):\n    print('in', flush=True)\n    time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "in\n"
    process.kill()
    process.communicate()
    check_we_go_on(tmp_path)


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (("RUNNING\n", 0), "RUNNING"),
        (("", 0), ""),
        ((INVALID, 1, "stderr"), ""),
        (("slurm_load_jobs error: Unable to contact slurm controller\n", 1, "stderr"), "unknown"),
    ],
)
def test_a_job_that_has_ended_is_told_from_a_slurm_that_does_not_answer(tmp_path, answer, state) -> None:
    squeue(tmp_path, *answer)
    assert state_of("7") == state


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETING", "CANCELLED", "PREEMPTED", "TIMEOUT", "PENDING", ""])
def test_only_a_running_job_goes_back_into_the_queue(tmp_path, state) -> None:
    squeue(tmp_path, f"{state}\n")
    scontrol(tmp_path)
    requeue()
    assert called(tmp_path) == (["requeue 7"] if state == "RUNNING" else [])


def test_a_slurm_that_does_not_answer_is_told_nothing(tmp_path) -> None:
    scontrol(tmp_path)
    requeue()
    assert called(tmp_path) == []


def test_outside_of_slurm_there_is_no_queue(tmp_path, monkeypatch) -> None:
    squeue(tmp_path, "RUNNING\n")
    scontrol(tmp_path)
    monkeypatch.delenv("SLURM_JOB_ID")
    requeue()
    assert called(tmp_path) == [] and not (tmp_path / "asked").exists()


@pytest.mark.parametrize("there", [True, False], ids=["refuses", "is missing"])
def test_a_job_that_cannot_go_back_is_told_and_no_failure(tmp_path, caplog, there) -> None:
    """Snakemake will try it again."""
    squeue(tmp_path, "RUNNING\n")
    if there:
        scontrol(tmp_path, code=1)
    requeue()
    assert "job 7 could not be put back into the queue" in caplog.text


def test_who_is_refused_leaves_the_wish_of_another_job_as_it_is(tmp_path, monkeypatch) -> None:
    leave = tmp_path / "checkpoints" / LEAVE

    def refuse(*words, **more):
        leave.write_text("9")  # a third job asks while we wait
        raise UserError("held")

    (tmp_path / HOLDER).write_text("8")
    monkeypatch.setattr(slurm_job, "_is_held", lambda out: True)
    monkeypatch.setattr(slurm_job, "alone", refuse)
    with pytest.raises(UserError), the_only_one(tmp_path):
        pass
    assert leave.read_text() == "9"
