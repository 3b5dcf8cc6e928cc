"""Tuned runs that were never trained, in a folder with DVC and MLflow, and what the registry has of them."""

import argparse
import subprocess
from pathlib import Path
from typing import Any

import pytest

from axenat import cli
from axenat.files import read_lines, read_yaml, write_json, write_lines, write_yaml
from axenat.stages import register
from axenat.tracking import Tracker, tracking_uri
from tests import tiny

NAME = "axenat-toy"
COMMIT = "0123abcd" * 5
# Translations of the tiny models differ between this length multiplier and 1.
VALUE = 1.6
# The runs of the fixture with their BLEU on valid; DVC knows each of them, and the registry only the first.
RUNS = {"first.5": 20.0, "worse": 19.5, "better": 21.0, "equal": 20.0}
# Their BLEU on test, which would make another one champion.
ON_TEST = {"first.5": 31.0, "worse": 41.0, "better": 11.0, "equal": 35.0}


def make_run(name: str, bleu: float, objective: str = "axe", seed: int = 1, corpus: str = "toy") -> Path:
    folder = tiny.run_folder(Path("results/runs") / name, objective, seed=seed)
    write_yaml(folder / "config.yaml", {**read_yaml(folder / "config.yaml"), "corpus": corpus})
    key = "length_penalty" if objective == "left_to_right" else "length_multiplier"
    tuned = {"run": name, "key": key, "value": VALUE, "bleu": bleu, "signature": "nrefs:1|tok:13a"}
    write_json(folder / "tuned.json", {**tuned, "candidates": [{"value": VALUE, "bleu": bleu}]})
    write_json(folder / "provenance.json", {"commit": COMMIT, "dirty": False})
    return folder


def make_test_score(run: Path, bleu: float) -> None:
    score = {"run": run.name, "split": "test", "decode": "ell5", "bleu": bleu, "signature": "nrefs:1|tok:13a"}
    write_json(run / "test/ell5.score.json", score)


def make_text(corpus: str = "toy") -> None:
    write_lines(f"data/{corpus}/valid.en", ["a car", "the old man", "today"])
    write_lines(f"data/{corpus}/valid.de", ["ein Auto", "der alte Mann", "heute"])
    write_lines(f"data/{corpus}/valid.ref1.de", ["ein Wagen", "der Greis", "an diesem Tag"])
    write_lines(f"data/{corpus}/test.en", ["the old woman"])
    write_lines(f"data/{corpus}/test.de", ["die alte Frau"])


def dvc(*words: str) -> None:
    subprocess.run(["dvc", *words, "--quiet"], check=True, capture_output=True)


def pin(*runs: str) -> None:
    """As `axenat record` does after a study."""
    stages = {run: {"cmd": "true", "outs": [{f"results/runs/{run}": {"persist": True}}]} for run in runs}
    write_yaml("dvc.yaml", {"stages": {run.replace(".", "_"): stage for run, stage in stages.items()}})
    dvc("commit", "--force")


def send(capsys: pytest.CaptureFixture[str], *runs: str) -> list[str]:
    """What `axenat register` prints."""
    capsys.readouterr()
    parser = argparse.ArgumentParser()
    register.add_arguments(parser)
    register.main(parser.parse_args(["--runs", *runs] if runs else []))
    return capsys.readouterr().out.splitlines()


def champion(name: str = NAME) -> tuple[int, dict[str, str]]:
    """Number and tags of the version that has the alias."""
    found = Tracker(tracking_uri()).client.get_model_version_by_alias(name, "champion")
    return int(found.version), dict(found.tags)


def versions(name: str = NAME) -> dict[str, int]:
    """Run and number of each."""
    found = Tracker(tracking_uri()).client.search_model_versions(f"name = '{name}'")
    assert len({item.tags["run"] for item in found}) == len(found), "a model is there twice"
    return {item.tags["run"]: int(item.version) for item in found}


def load_champion(name: str = NAME, **options: Any) -> Any:
    """From the store that the environment names; `mlflow.set_tracking_uri` would outlive the test."""
    import mlflow

    return mlflow.pyfunc.load_model(f"models:/{name}@champion", **options)


def translated(run: Path, lines: list[str]) -> list[str]:
    """By `axenat translate`."""
    write_lines("lines.txt", lines)
    assert cli.main(["translate", "--model", str(run), "--input", "lines.txt", "--output", "translated.txt"]) == 0
    return read_lines("translated.txt")
