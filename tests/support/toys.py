"""Runs that were never trained, for texts that the house does not hold: Chinese, and rules for text switched on."""

from pathlib import Path
from typing import Any

import torch

from axenat.data.vocab import Vocab
from axenat.decode.translator import new_model, read_run_config
from axenat.files import write_lines, write_yaml
from axenat.model.transformer import Transformer
from axenat.objectives.registry import objective_of
from axenat.records import as_plain
from axenat.stages import clean, learn_subwords
from axenat.train.checkpoint import load_tensors, load_weights, save_tensors, weights_of
from tests import tiny
from tests.support.house import run

ENGLISH = [
    "The old man buys a red car.",
    "The woman reads a book at home today.",
    "The man sees the woman.",
    "Today the old woman buys a book and a car at home.",
    "He reads.",
]
CHINESE = [
    "那位老人买了一辆红色的汽车。",
    "那个女人今天在家看书。",
    "那个男人看见那个女人。",
    "今天那位老妇人在家买了一本书和一辆汽车。",
    "他在看书。",
]
MARKED_ENGLISH = [
    'He said: "about 50% of the well-known co-op\'s cost".',
    "Rock & roll <is> a state-of-the-art thing.",
    "it's the mother-in-law's \"old\" car & 5% more.",
    "The costs of the co-op are well-known, and the car is old.",
]
MARKED_GERMAN = [
    'Er sagte: "etwa 50 % der Kosten der Co-op".',
    "Rock & Roll <ist> eine hoch-moderne Sache.",
    'es ist das "alte" Auto der Schwieger-Mutter & 5 % mehr.',
    "Die Kosten der Co-op sind hoch-bekannt, und die Sache ist alt.",
]
MARKED = {"escape": True, "aggressive_hyphens": True, "truecase": True}


class Toy:
    """Text in `text.*`, its words in `words.*`, and the folder of a run that knows them."""

    def __init__(self, path: Path, lines: tuple[list[str], list[str]], language: str, text: dict[str, bool]) -> None:
        self.path, self.run = path, path / "run"
        self.languages = {"source_language": "en", "target_language": language}
        self.rules = {"text": text} if text else {}
        self.text = dict(zip(("source", "target"), (path / "text.en", path / f"text.{language}"), strict=True))
        self.words = {side: path / f"words.{side}" for side in self.text}
        for side, content in zip(self.text, lines, strict=True):
            write_lines(self.text[side], content)
        write_yaml(path / "clean.yaml", {**self.languages, **self.rules})
        outputs = {f"out_{side}": words for side, words in self.words.items()}
        counts = path / "counts.json"
        run(clean, config=path / "clean.yaml", split="test", **self.text, **outputs, counts=counts, threads=1)
        write_yaml(path / "subwords.yaml", {**self.languages, **self.rules, "merges": 60, "joint": False})
        run(learn_subwords, config=path / "subwords.yaml", **self.words, out=self.run, threads=1)

    def make(self, objective: str, seed: int = 8, objective_keys: dict[str, Any] | None = None, **decode: Any) -> None:
        """A model of random weights. With this seed, it writes marks that the rules for text change."""
        config = tiny.run_config(
            objective, model={"max_positions": 64, "init_std": 1.0}, objective=objective_keys or {}, decode=decode
        )
        plain = as_plain(config)
        grids = plain.pop("decode")
        write_yaml(self.run / "config.yaml", {"run": "toy", **plain, **self.languages, "joint": False})
        write_yaml(self.run / "decode.yaml", {"run": "toy", "tuned_key": config.system.decoding.tuned.key, **grids})
        torch.manual_seed(seed)
        save_tensors(self.run / "model.safetensors", weights_of(model_of(self.run, trained=False)), {})


def model_of(folder: Path, *, trained: bool = True, weights: Path | None = None) -> Transformer:
    """The model that a run's folder describes, with its weights or other ones, ready to look at."""
    config = read_run_config(folder / "config.yaml")
    vocabs = [Vocab.load(folder / f"vocab.{side}") for side in ("source", "target")]
    made = new_model(config, objective_of(config.run.objective), *vocabs)
    if trained:
        path = weights or folder / "model.safetensors"
        load_weights(made, load_tensors(path)[0], path)
    return made.eval()


def chinese(path: Path) -> Toy:
    return Toy(path, (ENGLISH, CHINESE), "zh", {})


def marked(path: Path) -> Toy:
    """Quotes, per cent signs, hyphens and signs to escape, with rules for all of them."""
    return Toy(path, (MARKED_ENGLISH, MARKED_GERMAN), "de", MARKED)
