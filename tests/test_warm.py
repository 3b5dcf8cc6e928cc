"""A warm command is the real one but for its imports."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import warm

REAL = [sys.executable, "-m", "axenat.cli"]


def called(command: list[str], *words: str, **options) -> tuple[int, str, str]:
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", [["--version"], ["nonsense"], ["score", "--split"], ["choose", "--help"]])
def test_it_says_what_the_real_command_says_and_ends_alike(words) -> None:
    assert called([warm.axenat()], *words) == called(REAL, *words)


def test_it_works_in_its_folder_with_its_environment_and_streams(tmp_path) -> None:
    flags = ["configure", "--resolved", '{"a": "ü"}', "--out", "here.yaml"]
    assert called([warm.axenat()], *flags, cwd=tmp_path)[0] == 0
    assert (tmp_path / "here.yaml").read_text(encoding="utf-8") == "a: ü\n"
    told = {**os.environ, "AXENAT_NO_MODULES": "no module"}
    assert called([warm.axenat()], *flags, cwd=tmp_path, env=told) == called(REAL, *flags, cwd=tmp_path, env=told)


@pytest.fixture
def waiting(tmp_path):
    """A stage that waits for text from a pipe, with its outputs open."""
    os.mkfifo(tmp_path / "raw")
    (tmp_path / "clean.yaml").write_text("source_language: en\ntarget_language: de\n")
    out = [word for flag in ("out-source", "out-target", "counts") for word in (f"--{flag}", f"out/{flag}")]
    flags = ["--config", "clean.yaml", "--split", "train", "--source", "raw", "--target", "raw", *out]
    process = warm.Process(["clean", *flags], cwd=tmp_path)
    wait_until(lambda: (tmp_path / "out").exists() and len(list((tmp_path / "out").iterdir())) == 2)
    yield process
    process.kill()
    process.wait()


def wait_until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_signal_reaches_the_process_that_works_and_its_end_is_handed_on(waiting, tmp_path) -> None:
    waiting.terminate()
    assert waiting.wait(60) == 128 + signal.SIGTERM
    assert list((tmp_path / "out").iterdir()) == [], "it has tidied up"


def test_a_process_that_is_killed_is_gone_when_its_end_is_known(waiting) -> None:
    worker = int((warm.commands() / f"pid-{waiting.pid}").read_text())
    waiting.kill()
    assert waiting.wait(60) == -signal.SIGKILL
    assert not Path(f"/proc/{worker}").exists()


def test_nothing_goes_on_when_whoever_called_is_killed(waiting) -> None:
    worker = int((warm.commands() / f"pid-{waiting.pid}").read_text())
    os.kill(waiting.pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{worker}").exists())


def test_what_python_reads_when_it_starts_makes_it_the_real_command(tmp_path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.stderr.write('started')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    code, out, said = called([warm.axenat()], "--version", env={**os.environ, "PYTHONPATH": path})
    assert (code, out, said) == (0, called([warm.axenat()], "--version")[1], "started")


def test_without_its_server_it_is_the_real_command(tmp_path) -> None:
    for name in ("axenat", "environment.json"):
        (tmp_path / name).write_bytes((warm.commands() / name).read_bytes())
    (tmp_path / "axenat").chmod(0o755)
    with socket.socket(socket.AF_UNIX) as ended:
        ended.bind(str(tmp_path / "socket"))
    assert called([str(tmp_path / "axenat")], "--version") == called(REAL, "--version")
