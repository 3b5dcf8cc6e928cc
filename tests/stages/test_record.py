"""What enters DVC's books, with a real DVC in a real repository."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from axenat.files import UserError, write_text
from axenat.stages import record


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pinned data whose cache is elsewhere, and one stage that has run but is not recorded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.setenv("DVC_NO_ANALYTICS", "true")
    run("git", "init", "-q")
    run("dvc", "init", "-q")
    write_text("data/text", "one\n")
    run("dvc", "add", "-q", "data")
    run("rm", "-rf", ".dvc/cache")
    write_text("dvc.yaml", "stages: {copy: {cmd: cp data/text out, deps: [data], outs: [out: {persist: true}]}}\n")
    write_text("out", "one\n")
    return tmp_path


def record_all() -> None:
    parser = argparse.ArgumentParser()
    record.add_arguments(parser)
    record.main(parser.parse_args([]))


def test_status_is_clean_after_recording_what_data_pins(repository: Path) -> None:
    pin = Path("data.dvc").read_text()
    record_all()
    assert run("dvc", "status").strip() == "Data and pipelines are up to date."
    assert Path("data.dvc").read_text() == pin


def test_changed_data_keeps_its_pin_and_shows_in_the_status(repository: Path) -> None:
    pin = Path("data.dvc").read_text()
    write_text("data/text", "two\n")
    record_all()
    assert Path("data.dvc").read_text() == pin
    assert "changed outs" in run("dvc", "status", "data.dvc")


def test_a_missing_result_is_one_sentence(repository: Path) -> None:
    Path("out").unlink()
    with pytest.raises(UserError, match="dvc commit failed"):
        record_all()
