"""A registry in a state that every test begins with: made once, and copied for each of them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from axenat import cli
from tests.support import warm
from tests.support.registry import ON_TEST, RUNS, dvc, make_run, make_test_score, make_text, pin


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and results under DVC, a database of MLflow, and one registered model, which is the champion."""
    folder, before = tmp_path_factory.mktemp("registry"), os.getcwd()
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        _environment(patch, folder)
        subprocess.run(["git", "init", "--quiet"], check=True)
        dvc("init")
        make_text()
        dvc("add", "data")
        for seed, (name, bleu) in enumerate(RUNS.items(), start=1):
            make_test_score(make_run(name, bleu, seed=seed), ON_TEST[name])
        make_run("teacher", 90.0, objective="left_to_right")
        pin(*RUNS, "teacher")
        assert cli.main(["register", "--runs", "first.5"]) == 0
    os.chdir(before)
    return folder


def _environment(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
    patch.setenv("PATH", warm.path())
    patch.setenv("DVC_NO_ANALYTICS", "true")


@pytest.fixture
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, so that no test sees what another one did."""
    place = tmp_path / "registry"
    shutil.copytree(template, place, symlinks=True)
    monkeypatch.chdir(place)
    _environment(monkeypatch, place)
    return place
