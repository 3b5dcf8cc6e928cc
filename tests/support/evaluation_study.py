"""A study on disk in which no two numbers are equal, so that no cell can pass for another."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axenat.files import read_text, write_json, write_text, write_yaml
from tests.support.evaluation_texts import axenat
from tests.support.requests import write_request

PAPER = Path(__file__).parents[2] / "config" / "paper.yaml"
OWN = {"north": "wmt14-de-en", "east": "wmt17-en-zh"}
OTHERS = "wmt14-en-de"
CORPORA = ("north", "demo", "east")
COLUMN = {**OWN, "demo": OTHERS}
BOUNDS = ((1, 10), (10, 20), (20, 30), (30, 40), (40, 50), (50, None))
MULTIPLIERS = (1.0, 1.05, 1.08)
SMALL, LARGE = {"width": 8}, {"width": 16}
SIGNATURE = "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
# Name, objective, corpus, target side, delta, and what else is unlike other runs.
RUNS: tuple[tuple[str, str, str, str, float | None, dict[str, Any]], ...] = (
    ("north-teacher", "left_to_right", "north", "raw", None, {}),
    ("north-base", "left_to_right", "north", "distilled", None, {}),
    ("north-ce-raw", "masked", "north", "raw", None, {}),
    ("north-ce-distilled", "masked", "north", "distilled", None, {}),
    ("north-axe-raw-d1", "axe", "north", "raw", 1.0, {}),
    ("north-axe-raw-d2", "axe", "north", "raw", 2.0, {}),
    ("north-axe-distilled-d2", "axe", "north", "distilled", 2.0, {}),
    ("north-axe-distilled-d5", "axe", "north", "distilled", 5.0, {}),
    ("north-unseen", "axe", "north", "distilled", 5.0, {"observe": "none", "score": "all"}),
    ("north-whole", "axe", "north", "distilled", 5.0, {"score": "all"}),
    ("demo-teacher", "left_to_right", "demo", "raw", None, {"model": LARGE}),
    ("demo-base", "left_to_right", "demo", "distilled", None, {}),
    ("demo-ce-raw", "masked", "demo", "raw", None, {}),
    ("demo-ce-distilled", "masked", "demo", "distilled", None, {}),
    ("demo-axe-raw", "axe", "demo", "raw", 3.0, {}),
    ("demo-axe-distilled", "axe", "demo", "distilled", 4.0, {}),
    ("east-teacher", "left_to_right", "east", "raw", None, {"model": LARGE}),
    ("east-ce-distilled", "masked", "east", "distilled", None, {}),
    ("east-axe-distilled", "axe", "east", "distilled", 1.5, {}),
)
NAMES = tuple(run[0] for run in RUNS)
GRIDS = {
    "north-raw": ("north-axe-raw-d1", "north-axe-raw-d2"),
    "north-distilled": ("north-axe-distilled-d2", "north-axe-distilled-d5"),
}
CHOSEN = {"north-raw": "north-axe-raw-d2", "north-distilled": "north-axe-distilled-d5"}
# Who is shown where one run stands for an objective: no loser of a grid, no ablation.
LOSERS = {"north-axe-raw-d1", "north-axe-distilled-d2"}
ABLATIONS = {"north-unseen", "north-whole"}
LABELS = {"left_to_right": "left-to-right", "masked": "CE", "axe": "AXE"}


@dataclass
class Study:
    folder: Path
    seed: int = 1
    scores: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    tuned: dict[str, dict[str, Any]] = field(default_factory=dict)
    analyses: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    choices: dict[str, dict[str, Any]] = field(default_factory=dict)
    speed: dict[str, Any] = field(default_factory=dict)
    histories: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        for run in RUNS:
            self._write_run(*run)
        self._write_choices()
        self._write_speed()

    def number(self, low: float = 10.0, high: float = 90.0) -> float:
        return self._random.uniform(low, high)

    def own(self, run: str) -> dict[str, Any]:
        """The score of a run's own decoding."""
        return self.scores[run, decode_of(run)]

    def _write_run(
        self, run: str, objective: str, corpus: str, side: str, delta: float | None, more: Mapping[str, Any]
    ) -> None:
        folder, settings = self.folder / "runs" / run, {"name": objective}
        settings |= {} if delta is None else {"skip_target_penalty": delta}
        settings |= {key: value for key, value in more.items() if key != "model"}
        config = {"run": run, "corpus": corpus, "target_side": side, "seed": 7, "objective": settings}
        model = more.get("model", SMALL)
        write_yaml(folder / "config.yaml", config | {"model": model, "train": {"steps": 300_000}})
        write_yaml(folder / "decode.yaml", {"beam_size": 5, "num_length_candidates": 5})
        for decode in ("beam5", "beam2") if objective == "left_to_right" else ("ell5", "ell1", "ell5-t4"):
            about = {"run": run, "corpus": corpus, "objective": objective, "target_side": side, "decode": decode}
            about |= {"skip_target_penalty": delta, "ablation": run in ABLATIONS, "seed": 7}
            self.scores[run, decode] = about | self._scored(objective)
            write_json(folder / "test" / f"{decode}.score.json", self.scores[run, decode])
        self._write_tuned(run, objective)
        for split in ("valid", "test"):
            self.analyses[run, split] = {"run": run, "split": split, **self._analysed(corpus, split, objective)}
            write_json(folder / split / f"{decode_of(run)}.analysis.json", self.analyses[run, split])
        self.histories[run] = [
            {"kind": kind, "step": step, "epoch": 0, "loss": self.number(1, 9)}
            for step in (20, 40, 60)
            for kind in ("train", "valid")
        ]
        write_json(folder / "best.json", {})
        lines = [str(line).replace("'", '"') for line in self.histories[run]]
        write_text(folder / "history.jsonl", "\n".join(lines) + "\n")

    def _scored(self, objective: str) -> dict[str, Any]:
        bleu = self.number()
        names = {"sacrebleu": "sacreBLEU", "tokenised": "tokenised BLEU", "chrf": "chrF2"}
        conventions = {
            name: {
                "label": label,
                "value": self.number(),
                "low": self.number(),
                "high": self.number(),
                "signature": f"{SIGNATURE}|{name}",
                "compared": f"text of {name}",
            }
            for name, label in names.items()
        }
        tuned = "length_penalty" if objective == "left_to_right" else "length_multiplier"
        return {
            "split": "test",
            "bleu": bleu,
            "bleu_low": bleu - self.number(1, 3),
            "bleu_high": bleu + self.number(1, 3),
            "signature": SIGNATURE,
            "repetition": self.number(0.01, 0.2),
            "repetition_words": self.number(0.01, 0.2),
            "valid_share": self.number(0.1, 0.9),
            "length_ratio": self.number(0.8, 1.2),
            "length_multiplier": None,
            "length_penalty": None,
            tuned: self.number(0.9, 1.1),
            "num_sentences": 500,
            "num_references": 2,
            "engine": f"engine{self._random.randrange(1000)}",
            "precision": f"precision{self._random.randrange(1000)}",
            "hypothesis": "h.txt",
            "references": ["r.txt"],
            "conventions": conventions,
        }

    def _write_tuned(self, run: str, objective: str) -> None:
        candidates = [{"value": value, "bleu": self.number()} for value in MULTIPLIERS]
        best = max(candidates, key=lambda candidate: candidate["bleu"])
        self.tuned[run] = {
            "run": run,
            "key": "length_penalty" if objective == "left_to_right" else "length_multiplier",
            "value": best["value"],
            "bleu": best["bleu"],
            "candidates": candidates,
            "signature": SIGNATURE,
            "skip_prediction_rate": self.number(0.01, 0.2) if objective == "axe" else None,
        }
        write_json(self.folder / "runs" / run / "tuned.json", self.tuned[run])

    def _analysed(self, corpus: str, split: str, objective: str) -> dict[str, Any]:
        """As many sentences in a bucket as the corpus has there, whoever translates them."""
        first = 50 * (1 + CORPORA.index(corpus)) + (7 if split == "valid" else 0)
        buckets = [
            {"low": low, "high": high, "num_sentences": first + place, "bleu": self.number()}
            for place, (low, high) in enumerate(BOUNDS)
        ]
        offsets = list(range(-5, 6))
        confidence = {
            size: {
                "offsets": offsets,
                "probability": [self.number(0.01, 0.99) for _ in offsets],
                "num_sentences": first + more,
            }
            for size, more in (("short", 20), ("long", 30))
        }
        student = objective != "left_to_right"
        return {"buckets": buckets, "confidence": confidence if student else None, "examples": [], "alignments": []}

    def _write_choices(self) -> None:
        for group, runs in GRIDS.items():
            candidates = [
                {
                    "run": run,
                    "value": self.own(run)["skip_target_penalty"],
                    "bleu": self.number(),
                    "length_multiplier": self.number(1, 1.1),
                    "skip_target_rate": self.number(0.01, 0.2),
                }
                for run in reversed(runs)
            ]
            self._choice(group, "skip_target_penalty", CHOSEN[group], candidates)
        rates = [{"run": "demo-ce-raw", "value": 0.1, "bleu": self.number(), "skip_target_rate": None}]
        self._choice("demo-rates", "peak_lr", "demo-ce-raw", rates)

    def _choice(self, group: str, key: str, chosen: str, candidates: list[dict[str, Any]]) -> None:
        self.choices[group] = {"group": group, "key": key, "chosen": chosen, "candidates": candidates}
        write_json(self.folder / "choices" / f"{group}.json", self.choices[group])

    def _write_speed(self) -> None:
        """Cross entropy of another size stands first, with which nothing is compared; two runs were decoded twice."""
        training = [
            {
                **{key: self.own(run)[key] for key in ("run", "corpus", "objective", "target_side")},
                "model": LARGE if run == "north-ce-raw" else SMALL,
                "steps": 9,
                "tokens_per_step": 512,
                "tokens_per_second": self.number(100, 9000),
                "step_milliseconds": self.number(),
                "total_seconds": self.number(100, 9000),
            }
            for run in NAMES
        ]
        decoding = [
            {
                **{key: self.scores[run, decode][key] for key in ("run", "corpus", "objective", "engine", "precision")},
                "decode": decode,
                "num_sentences": 30,
                "sentences_per_second": self.number(),
                "latency_milliseconds": self.number(),
            }
            for run, decode in self.scores
            if run in ("north-teacher", "north-ce-distilled", "demo-teacher", "demo-axe-raw", "demo-base")
            and decode != "ell5-t4"
        ]
        machine = {"threads": 3, "device": "cpu"}
        self.speed = {"machine": machine, "rounds": 4, "training": training, "decoding": decoding}
        write_json(self.folder / "speed.json", self.speed)

    def request(self, name: str, **more: Any) -> Path:
        """A file that names the records which `tables`, `figures` and `report` share, and `more`."""
        runs = [self.folder / "runs" / run for run in NAMES]
        records = {
            "scores": [folder / "test" / f"{decode_of(folder.name)}.score.json" for folder in runs],
            "choices": [self.folder / "choices" / f"{group}.json" for group in self.choices],
        }
        path = self.folder / "requests" / f"{name}.yaml"
        return write_request(path, **{"study": "toy", "runs": runs, **records, **more})

    def for_tables(self) -> dict[str, Any]:
        """What `tables` needs besides."""
        runs = self.folder / "runs"
        own = [runs / run / "test" / f"{decode}.score.json" for run, decode in self.scores if decode != decode_of(run)]
        teachers = [run for run in NAMES if run.endswith("teacher")]
        published = {"paper": PAPER, "paper_columns": OWN, "published": OTHERS}
        return {"further": own, "teachers": teachers, "speed": [self.folder / "speed.json"], **published}

    def write_tables(self, *names: str) -> Path:
        """As the rule calls the stage, with all that a study has."""
        out = self.folder / "tables"
        axenat("tables", "--request", self.request("tables", names=names, **self.for_tables()), "--out", out)
        return out

    def draw(self, *names: str) -> Path:
        out = self.folder / "figures"
        axenat("figures", "--request", self.request("figures", names=names), "--out", out)
        return out

    def write_page(self, name: str = "report", **more: Any) -> str:
        out = self.folder / f"{name}.html"
        axenat("report", "--request", self.request(name, **more), "--out", out)
        return read_text(out)


def decode_of(run: str) -> str:
    """A run's own decoding."""
    return "beam5" if run.endswith(("teacher", "base")) else "ell5"


def chosen(objective: str | None = None, corpus: str | None = None, side: str | None = None) -> list[str]:
    """Runs that stand for their objective."""
    return [
        name
        for name, *about, _, _ in RUNS
        if name not in LOSERS | ABLATIONS
        and all(asked in (None, found) for asked, found in zip((objective, corpus, side), about, strict=True))
    ]
