"""A run's folder as the stages leave it, and what a store has of it."""

import argparse
import json
from pathlib import Path
from typing import Any

from axenat import tracking
from axenat.files import write_json, write_text, write_yaml
from axenat.stages import publish

COMMIT, DATA = "0123abcd" * 5, "d41d8cd98f00b204e9800998ecf8427e.dir"


def valid(step: int, loss: float) -> dict[str, object]:
    return {"kind": "valid", "step": step, "epoch": 0, "loss": loss, "token_loss": loss}


def jsonl(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def make_run(results: Path, name: str, losses: list[float], bleu: float = 22.5) -> Path:
    """What the stages leave in a run's folder."""
    folder = results / "runs" / name
    objective = {"name": "axe", "label_smoothing": 0.1, "skip_target_penalty": 2.0}
    config = {"run": name, "corpus": "demo", "target_side": "raw", "objective": objective}
    languages = {"source_language": "en", "target_language": "de"}
    write_yaml(folder / "config.yaml", {**config, **languages, "train": {"peak_lr": 0.001}})
    write_yaml(folder / "decode.yaml", {"run": name, "num_length_candidates": 5, "length_multipliers": [1.0, 1.1]})
    write_text(folder / "history.jsonl", jsonl(*(valid(10 * number, loss) for number, loss in enumerate(losses, 1))))
    write_json(folder / "best.json", {"checkpoints": []})
    write_json(folder / "provenance.json", {"commit": COMMIT, "dirty": False, "host": "here", "slurm_job": "17"})
    candidates = [{"value": 1.0, "bleu": 20.0}, {"value": 1.1, "bleu": 21.0}]
    write_json(folder / "tuned.json", {"key": "length_multiplier", "value": 1.1, "candidates": candidates})
    make_score(folder, "ell5", bleu)
    return folder


def make_score(folder: Path, decode: str, bleu: float) -> None:
    score = {
        "run": folder.name, "split": "test", "decode": decode, "bleu": bleu, "signature": "nrefs:8",
        "valid_share": None, "length_multiplier": 1.1, "engine": "torch",
    }  # fmt: skip
    write_json(folder / "test" / f"{decode}.score.json", score)
    write_text(folder / "test" / f"{decode}.txt", "Hallo\nWelt\n")


def send(*runs: str, study: str = "toy", flags: tuple[str, ...] = ()) -> None:
    parser = argparse.ArgumentParser()
    publish.add_arguments(parser)
    publish.main(parser.parse_args(["--study", study, "--runs", *runs, *flags]))


class Store:
    """What the store of the environment has, for whoever opens `mlflow ui` on it."""

    def __init__(self) -> None:
        self.tracker = tracking.Tracker(tracking.tracking_uri())
        self.client = self.tracker.client

    def runs(self) -> dict[str, Any]:
        """By name."""
        runs = self.client.search_runs([self.tracker.experiment_id])
        assert len({run.info.run_name for run in runs}) == len(runs), "a run is there twice"
        return {run.info.run_name: run for run in runs}

    def ids(self) -> dict[str, str]:
        return {name: run.info.run_id for name, run in self.runs().items()}

    def curve(self, name: str, key: str) -> list[tuple[int, float]]:
        history = self.client.get_metric_history(self.runs()[name].info.run_id, key)
        return [(point.step, point.value) for point in history]

    def files(self, name: str) -> set[str]:
        run_id, found = self.runs()[name].info.run_id, set()
        for item in self.client.list_artifacts(run_id):
            inside = self.client.list_artifacts(run_id, item.path) if item.is_dir else [item]
            found |= {one.path for one in inside}
        return found

    def text(self, name: str, file: str) -> str:
        return Path(self.client.download_artifacts(self.runs()[name].info.run_id, file)).read_text(encoding="utf-8")


def as_while_it_trains(place: Path) -> None:
    (place / "best.json").unlink()
    write_text(place / "checkpoints/history.jsonl", (place / "history.jsonl").read_text())
    (place / "history.jsonl").unlink()
