"""While a training runs, a process of its own samples the machine and sends what is new to MLflow.

A process, not a thread: whatever a store does to it, however long it waits and whatever it imports, the training shares
no lock with it and never waits for it. It works at the lowest priority and ends with the training, however that ends;
the last lines are sent by `axenat publish`.
"""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from axenat.publishing.run_files import SYSTEM, has_begun
from axenat.publishing.system import Machine

log = logging.getLogger("axenat.follow")
FOLLOW_SECONDS = 60.0  # AXENAT_FOLLOW_SECONDS
SAMPLE_SECONDS = 30.0
MOST_DELAY = 32  # times FOLLOW_SECONDS between tries, once a store has failed again and again


@contextmanager
def following(folder: Path) -> Iterator[None]:
    """Starting and ending it takes milliseconds; it must never be the reason why a training fails."""
    try:
        process = _start(folder)
    except OSError as error:
        log.warning("this training is not followed (%s); axenat publish will send its history", error.strerror)
        yield
        return
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _start(folder: Path) -> "subprocess.Popen[bytes]":
    """Its standard input is a pipe that closes when we are gone. Signals to our group are not for it.

    A session of its own it must not have: Linux shares processors among sessions first, whatever their priorities.
    """
    command = [sys.executable, "-m", "axenat.publishing.follow", str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, process_group=0)
    os.setpriority(os.PRIO_PROCESS, process.pid, 19)
    return process


def main(folder: Path) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    threading.Thread(target=_end_with_the_training, daemon=True).start()
    follow(folder, os.getppid(), _seconds())


def _end_with_the_training() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def _seconds() -> float:
    try:
        return max(0.1, float(os.environ.get("AXENAT_FOLLOW_SECONDS", FOLLOW_SECONDS)))
    except ValueError:
        log.warning("AXENAT_FOLLOW_SECONDS is no number; MLflow gets news every %g seconds", FOLLOW_SECONDS)
        return FOLLOW_SECONDS


def follow(folder: Path, process: int, seconds: float) -> None:
    """Sample and send, until the training ends; after a failure less and less often, until the store is back."""
    machine, delay, due = Machine(process, folder), seconds, time.monotonic() + seconds
    while True:
        time.sleep(max(0.0, min(SAMPLE_SECONDS, due - time.monotonic())))
        try:
            append_sample(folder, machine.sample())
        except psutil.NoSuchProcess:
            return
        except (psutil.Error, OSError):  # what cannot be measured or kept is not missed
            pass
        if time.monotonic() < due:
            continue
        failed = delay > seconds
        problem = _try_to_send(folder)
        if problem and not failed:
            log.warning("MLflow did not answer (%s); trying again later, and axenat publish sends the rest", problem)
        elif failed and not problem:
            log.info("MLflow answers again")
        delay = min(2 * delay, MOST_DELAY * seconds) if problem else seconds
        due = time.monotonic() + delay


def append_sample(folder: Path, sample: dict[str, float]) -> None:
    """A line of its own, also after one that a kill has cut in half."""
    with (folder / "checkpoints" / SYSTEM).open("ab+") as stream:
        stream.seek(max(0, stream.tell() - 1))
        begun = stream.read(1) not in (b"", b"\n")
        stream.write((b"\n" if begun else b"") + json.dumps(sample).encode() + b"\n")


def _try_to_send(folder: Path) -> str | None:
    """Why it failed, if it did."""
    if not has_begun(folder):
        return None
    from axenat.publishing.study import parent_of  # mlflow takes seconds
    from axenat.publishing.training import send_training, set_status
    from axenat.tracking import Tracker, reason_of, tracking_uri

    try:
        tracker, study = Tracker(tracking_uri()), os.environ.get("AXENAT_STUDY")
        belongs = {}
        if study:
            parent = parent_of(tracker, folder.parent.parent, study)
            belongs = {"study": study, "mlflow.parentRunId": parent.id}
            set_status(tracker, parent, "RUNNING")
        run = send_training(tracker, folder, belongs, live=True)
        set_status(tracker, run, "RUNNING")
    except Exception as error:  # whatever a store does
        return reason_of(error)
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
