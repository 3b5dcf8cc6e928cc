"""What enters DVC's books, with a real DVC in a real repository."""

import argparse
import os
import subprocess
from pathlib import Path

import pytest

from axenat.files import UserError, read_yaml, write_text
from axenat.publishing.study import data_version
from axenat.stages import record
from tests.noted import note
from tests.support import warm


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pinned data whose cache is elsewhere, and one stage that has run but is not recorded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", warm.path())
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


def test_a_result_that_was_changed_after_it_was_made_is_not_recorded(repository: Path) -> None:
    record_all()
    lock = Path("dvc.lock").read_text()
    write_text("out", "other\n")
    note("out")  # by a job
    record_all()
    assert Path("dvc.lock").read_text() != lock
    lock = Path("dvc.lock").read_text()
    write_text("out", "by hand\n")
    os.utime("out", (1, 1))
    with pytest.raises(UserError, match=r"^out was changed after its job had made it, so that nothing is recorded"):
        record_all()
    assert Path("dvc.lock").read_text() == lock


def test_data_that_is_not_pinned_is_told(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_all()
    assert not capsys.readouterr().out
    write_text("data/text", "two\n")
    record_all()
    assert "data is not what data.dvc pins" in capsys.readouterr().out
    assert data_version(Path("data.dvc")) not in (None, read_yaml("data.dvc")["outs"][0]["md5"])
    run("dvc", "add", "-q", "data")
    assert data_version(Path("data.dvc")) == read_yaml("data.dvc")["outs"][0]["md5"], "as DVC counts it"


def test_a_missing_result_is_one_sentence(repository: Path) -> None:
    Path("out").unlink()
    with pytest.raises(UserError, match="dvc commit failed"):
        record_all()
