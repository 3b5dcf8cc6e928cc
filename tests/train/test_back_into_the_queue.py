"""A training that is asked to stop goes back into the queue, unless the copy that asked goes on with its work."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from axenat.files import UserError, alone, read_lines, write_text
from axenat.train import slurm_job
from axenat.train.signals import PreemptedError
from axenat.train.slurm_job import HOLDER, LEAVE, LOCK, back_into_the_queue, the_only_one
from tests.stand_in import noting, saying, stand_in


@pytest.fixture(autouse=True)
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """We are job 7, which runs. Stand-ins answer for Slurm."""
    stand_in(tmp_path / "bin", "squeue", saying("RUNNING\n", 0, "stdout"))
    stand_in(tmp_path / "bin", "scontrol", noting(tmp_path / "called"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(slurm_job, "LEAVE_SECONDS", 60.0)


def called(tmp_path: Path) -> list[str]:
    return read_lines(tmp_path / "called") if (tmp_path / "called").exists() else []


def stops(out: Path, error: type[Exception]) -> None:
    with pytest.raises(error), back_into_the_queue(out):
        raise error("asked to stop")


@contextmanager
def asked_by_another_copy(out: Path) -> Iterator[None]:
    """It waits for our lock, having told us to leave in its own way."""

    def enter() -> bool:
        with the_only_one(out):
            return True

    with ThreadPoolExecutor(1) as pool:
        with alone(out / LOCK):
            write_text(out / HOLDER, "7")
            copy = pool.submit(enter)
            while not list(out.rglob(LEAVE)):
                assert not copy.done(), "it did not ask"
                time.sleep(0.01)
            yield
        assert copy.result(timeout=60)


def test_asked_by_a_signal_it_goes_back_into_the_queue(tmp_path) -> None:
    stops(tmp_path / "out", PreemptedError)
    assert called(tmp_path) == ["requeue 7"]


def test_asked_by_another_copy_of_its_job_it_leaves_the_work_to_that_one(tmp_path) -> None:
    """Both would fight for the folder otherwise, each time one of them starts."""
    with asked_by_another_copy(tmp_path / "out"):
        stops(tmp_path / "out", PreemptedError)
    assert called(tmp_path) == []


def test_after_the_other_copy_has_taken_over_a_later_signal_counts_again(tmp_path) -> None:
    with asked_by_another_copy(tmp_path / "out"):
        pass
    stops(tmp_path / "out", PreemptedError)
    assert called(tmp_path) == ["requeue 7"]


@pytest.mark.parametrize("error", [UserError, RuntimeError])
def test_a_training_that_fails_does_not_go_back_into_the_queue(tmp_path, error) -> None:
    stops(tmp_path / "out", error)
    assert called(tmp_path) == []


def test_a_training_that_ends_well_does_not_go_back_into_the_queue(tmp_path) -> None:
    with back_into_the_queue(tmp_path / "out"):
        pass
    assert called(tmp_path) == []
