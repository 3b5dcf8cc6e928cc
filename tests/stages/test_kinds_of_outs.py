"""A result that differs from what is recorded is noticed, whatever kind of out it is: by verify, record and adopt."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from axenat import cli
from axenat.files import write_text
from tests.noted import note
from tests.stand_in import noting, stand_in
from tests.support import warm

STAGES = """
stages:
  text: {cmd: "true", deps: [data], outs: [results/model: {persist: true}, results/folder: {persist: true}]}
  score:
    cmd: "true"
    deps: [results/model]
    outs: [results/other: {persist: true}]
    metrics: [results/score.json: {persist: true}]
    plots: [results/valid.csv: {persist: true}]
"""
# One file of each kind, with the stage that makes it.
FILES = {
    "results/model": "text",
    "results/folder/inside/shard": "text",
    "results/other": "score",
    "results/score.json": "score",
    "results/valid.csv": "score",
}
FOLDER = "results/folder/inside/shard"


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("books")
    write_text(folder / "dvc.yaml", STAGES)
    write_text(folder / "data/text", "raw\n")
    for number, name in enumerate(FILES):
        write_text(folder / name, json.dumps({"value": number}))
    write_text(folder / "results/folder/shard", "another\n")
    dvc = str(warm.commands() / "dvc")
    environment = {**os.environ, "DVC_NO_ANALYTICS": "true"}
    for words in (["init", "-q", "--no-scm"], ["add", "-q", "data"], ["commit", "-q", "-f", "dvc.yaml"]):
        subprocess.run([dvc, *words], cwd=folder, env=environment, check=True)
    return folder


@pytest.fixture
def recorded(books: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy in which every result is as its job has made it."""
    shutil.copytree(books, tmp_path / "books")
    monkeypatch.chdir(tmp_path / "books")
    stand_in(tmp_path / "bin", "snakemake", noting(tmp_path / "called"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{warm.path()}")
    monkeypatch.setenv("DVC_NO_ANALYTICS", "true")
    for name in FILES:
        note(name)
    return tmp_path / "books"


def called(recorded: Path) -> list[str]:
    """Calls of Snakemake."""
    path = recorded.parent / "called"
    return path.read_text().splitlines() if path.exists() else []


def test_verify_tells_a_changed_file_of_every_kind_by_its_own_name(recorded: Path, capsys) -> None:
    for name in FILES:
        write_text(name, "changed\n")
    assert cli.main(["verify"]) == 1
    told = [line.split(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert sorted(told) == sorted(FILES)


def test_record_refuses_what_was_changed_by_hand_and_takes_what_was_made_again(recorded: Path, capsys) -> None:
    """A folder is not refused: it is made again as a whole."""
    lock = Path("dvc.lock").read_text()
    for name in FILES:
        if name != FOLDER:
            before = Path(name).read_text()
            write_text(name, "by hand\n")
            os.utime(name, (1, 1))
            assert cli.main(["record"]) == 2
            assert f"axenat record: {name} was changed after its job had made it" in capsys.readouterr().err
            write_text(name, before)
    assert Path("dvc.lock").read_text() == lock
    for name in FILES:
        write_text(name, f"made again {name}\n")
        note(name)
    assert cli.main(["record"]) == 0
    assert cli.main(["verify"]) == 0
    assert Path("dvc.lock").read_text() != lock


def test_adopt_brings_back_what_is_missing_and_has_snakemake_touch_all_jobs(recorded: Path) -> None:
    for name in FILES:
        Path(name).unlink()
    shutil.rmtree("data")
    assert cli.main(["adopt"]) == 0
    assert cli.main(["verify"]) == 0
    (only,) = called(recorded)
    assert {"--touch", "--forceall", "all"} <= set(only.split())


def test_adopt_takes_nothing_as_made_if_a_stage_is_of_another_configuration(recorded: Path, capsys) -> None:
    write_text(
        "dvc.yaml", STAGES.replace('cmd: "true"\n    deps: [results/model]', "cmd: other\n    deps: [results/model]")
    )
    assert cli.main(["adopt"]) == 2
    assert "not as dvc.lock records it, so that it has to be run: score" in capsys.readouterr().err
    assert called(recorded) == []


def test_adopt_takes_nothing_as_made_if_a_recorded_file_cannot_be_had(recorded: Path) -> None:
    Path("results/valid.csv").unlink()
    shutil.rmtree(".dvc/cache")
    assert cli.main(["adopt"]) == 2
    assert called(recorded) == []
