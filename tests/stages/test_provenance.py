"""provenance.json says which text, commit and machine made a training: checked against the files and against git."""

import hashlib
import os
import platform
import subprocess
from pathlib import Path

import pytest
import torch

from axenat import cli
from axenat.files import read_json, write_text
from tests.train.demo_run import DemoData, DemoRun


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    """One step, in a repository of its own with one commit and a change since then."""
    folder, before = tmp_path_factory.mktemp("provenance"), os.getcwd()
    os.chdir(folder)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    write_text(folder / "tracked", "one\n")
    for words in (["init", "-q"], ["add", "tracked"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    write_text(folder / "tracked", "two\n")
    run = DemoRun(DemoData(folder / "data", train=60, valid=20), folder / "results/runs/axe", steps=1, validate_every=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_JOB_ID", "4711")
        assert cli.main(run.command()) == 0
    os.chdir(before)
    return run


def test_the_sum_is_that_of_the_ids_of_train_and_of_no_other_file(trained) -> None:
    sums = {split: hashlib.sha256(trained.data.ids(split).read_bytes()).hexdigest() for split in ("train", "valid")}
    assert sums["train"] != sums["valid"]
    assert read_json(trained.folder / "provenance.json")["train_ids_sha256"] == sums["train"]


def test_the_commit_is_that_of_git_and_a_change_since_then_is_told(trained) -> None:
    made = read_json(trained.folder / "provenance.json")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=trained.folder, capture_output=True, text=True, check=True)
    assert (made["commit"], made["dirty"]) == (head.stdout.strip(), True)


def test_the_machine_is_this_one_and_the_training_is_the_one_in_best_json(trained) -> None:
    made = read_json(trained.folder / "provenance.json")
    assert (made["host"], made["machine"]) == (platform.node(), platform.machine())
    assert (made["python"], made["packages"]["torch"]) == (platform.python_version(), torch.__version__)
    assert (made["device"], made["threads"], made["slurm_job"]) == ("cpu", 1, "4711")
    assert made["fingerprint"] == read_json(Path(trained.folder) / "best.json")["fingerprint"]
