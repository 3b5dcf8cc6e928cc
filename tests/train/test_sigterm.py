"""Whoever ends a suite with SIGTERM need not wait, though a training that is tested takes the signal for itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = """
from pathlib import Path

from axenat.files import UserError
from axenat.train.loop import train
from tests.train.test_loop import setting


def test_one(tmp_path):
    endless = {{"steps": 10**6, "validate_every": 10**6, "log_every": 1}}
    try:
        train(setting(Path({folder!r}), "left_to_right", train=endless), "mark")
    except UserError:
        pass


def test_two():
    Path({folder!r}, "two").touch()
"""


def wait_for(condition) -> bool:
    """Generously, since nothing here is about a second."""
    end = time.monotonic() + 120
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["one process", "a worker"])
def test_a_sigterm_in_the_middle_of_a_training_ends_the_suite(tmp_path, workers) -> None:
    """Even a test that expects the training to be asked to stop is the last one."""
    (tmp_path / "test_suite.py").write_text(SUITE.format(folder=str(tmp_path)))
    words = ["-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), *workers]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words, str(tmp_path / "test_suite.py")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    history = tmp_path / "checkpoints" / "history.jsonl"
    trains = wait_for(lambda: process.poll() is not None or (history.exists() and history.stat().st_size > 0))
    os.killpg(process.pid, signal.SIGTERM)
    said = process.communicate(timeout=120)[0]
    assert trains and history.exists(), said
    assert process.returncode not in (0, 1), said
    assert not (tmp_path / "two").exists()
    assert wait_for(lambda: is_gone(process.pid)), "a worker is left"
