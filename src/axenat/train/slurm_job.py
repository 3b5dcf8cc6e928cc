"""A training as a job of Slurm: back into the queue when its time is up, and one copy of it at a time.

There can be two. After a node is lost Slurm starts the job elsewhere, while the processes of the first copy may live
on, cut off from Slurm but not from the disk; and after a login node is lost, the next call of Snakemake sends jobs that
still run. The second asks the first to leave, which saves its state, and goes on from there.
"""

import logging
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axenat.files import UserError, alone, read_text, write_text
from axenat.train.signals import PreemptedError

log = logging.getLogger(__name__)
LOCK, HOLDER = ".training", ".training.job"
LEAVE = "leave"  # in the folder of the checkpoints, where the one that trains looks for it
LOCK_SECONDS = 30.0  # workers of a killed training hold its lock until they notice
LEAVE_SECONDS = 600.0  # a step, and saving a large state
QUERY_SECONDS = 30.0


@contextmanager
def the_only_one(out: Path) -> Iterator[None]:
    """Of all that would train into this folder; among jobs of Slurm the newest goes on."""
    job, leave = os.environ.get("SLURM_JOB_ID", ""), out / "checkpoints" / LEAVE
    patience = LOCK_SECONDS
    if job and _is_held(out) and _holder(out):
        log.info("job %s is still at work here; it is asked to save its state and leave", _holder(out))
        write_text(leave, job)
        patience = LEAVE_SECONDS
    try:
        with alone(out / LOCK, patience=patience):
            leave.unlink(missing_ok=True)
            write_text(out / HOLDER, job)
            yield
    finally:
        if job and leave.exists() and read_text(leave).strip() == job:  # nobody left
            leave.unlink()


def _is_held(out: Path) -> bool:
    try:
        with alone(out / LOCK, patience=0):
            return False
    except UserError:
        return True


def _holder(out: Path) -> str:
    path = out / HOLDER
    return read_text(path).strip() if path.exists() else ""


def state_of(job: str) -> str:
    """As squeue has it: empty if it has ended, unknown if Slurm does not answer."""
    command = ["squeue", "--noheader", "--states=all", "--format=%T", "--jobs", job]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=QUERY_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    if done.returncode:
        return "" if "Invalid job id" in done.stderr else "unknown"
    return done.stdout.strip()


@contextmanager
def back_into_the_queue(out: Path) -> Iterator[None]:
    """A training that is asked to stop, unless another copy of its job has asked: that one goes on."""
    try:
        yield
    except PreemptedError:
        if not (out / "checkpoints" / LEAVE).exists():
            requeue()
        raise


def requeue() -> None:
    """The same job once more, after a signal that came before its time was up; without this Snakemake tries it again.

    A job that somebody has cancelled stays so. Each time at least one step was made, so that this comes to an end.
    """
    job = os.environ.get("SLURM_JOB_ID")
    if not job or state_of(job) != "RUNNING":
        return
    try:
        subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, timeout=QUERY_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("job %s could not be put back into the queue (%s)", job, getattr(error, "stderr", "") or error)
    else:
        log.info("job %s is back in the queue", job)
