"""A run's folder as a translator: lines of text in, lines of text out, in order."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch

from axenat.config import DecodeConfig, RunConfig
from axenat.data.side import Side
from axenat.data.vocab import EOS, Vocab
from axenat.decode.engines import Engine, engine_of
from axenat.decode.hypothesis import Hypothesis
from axenat.files import UserError, read_mapping, read_record
from axenat.model.transformer import Transformer
from axenat.objectives.base import Objective
from axenat.objectives.registry import objective_of
from axenat.records import build
from axenat.train.average import check_texts
from axenat.train.checkpoint import load_tensors, load_weights

# Keys of a run's config.yaml that are about its text, not about its training.
TEXT_KEYS = ("run", "source_language", "target_language", "joint")


class Translation(NamedTuple):
    """One line in its three forms, its score, and whether it ended by itself."""

    text: str
    words: str
    subwords: str
    score: float
    ended: bool = True
    ids: tuple[int, ...] = ()  # as the decoder produced them, <eos> and blanks included


MOST_TUNED = 100.0  # beyond, lengths and scores overflow
EMPTY = Translation("", "", "", 0.0)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """What config.yaml says, as records."""

    name: str
    run: RunConfig
    source_language: str
    target_language: str
    joint: bool


def read_run_config(path: Path) -> RunFolder:
    values = read_mapping(path)
    text: dict[str, Any] = {}
    for key in TEXT_KEYS:
        if key not in values:
            raise UserError(f"{path}: {key} is missing; is this the config.yaml of a run?")
        text[key] = values.pop(key)
    return RunFolder(text["run"], build(RunConfig, values, str(path)), text["source_language"],
                     text["target_language"], text["joint"])  # fmt: skip


def _tuned_value(path: Path, least: float) -> float:
    value = read_record(path, "value")["value"]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= MOST_TUNED:
        raise UserError(f"{path}: value must be from {least} to {MOST_TUNED}, got {value!r}; tune the run again")
    return float(value)


def new_model(folder: RunFolder, objective: Objective, source_vocab: Vocab, target_vocab: Vocab) -> Transformer:
    return Transformer(
        folder.run.model, len(source_vocab), len(target_vocab),
        joint=folder.joint, predicts_length=objective.predicts_length,
    )  # fmt: skip


class Translator:
    """A trained model with all it needs to read and write text."""

    def __init__(
        self,
        path: str | Path,
        device: torch.device,
        decoding: str | None = None,
        *,
        latency: bool = False,  # lines come one at a time
        **changes: Any,
    ) -> None:
        """Decodes as decode.yaml says, or as `decoding` and other `changes` of its keys say instead."""
        path = Path(path)
        if not path.is_dir():
            raise UserError(f"{path}: no such folder; give a run's folder, such as results/runs/teacher")
        self.folder = read_run_config(path / "config.yaml")
        self.device, self.latency = device, latency
        weights = path / "model.safetensors"
        tensors, metadata = load_tensors(weights)
        check_texts(path, metadata)
        self.source, self.target = Side.load(path, "source"), Side.load(path, "target")
        self.system = self.folder.run.system
        self.objective = objective_of(self.folder.run.objective)
        self.model = new_model(self.folder, self.objective, self.source.vocab, self.target.vocab)
        load_weights(self.model, tensors, weights)
        self.model.to(device).eval()
        self.decode = self._settings(path / "decode.yaml", decoding, changes)
        self.tuned_key, self.grid, self.value = self._tuning(path / "tuned.json")
        self.num_cut = 0  # lines of the last call that were longer than the model's positions

    def _settings(self, path: Path, decoding: str | None, changes: dict[str, Any]) -> DecodeConfig:
        values = read_mapping(path)
        for key in ("run", "tuned_key"):  # for readers of the file
            values.pop(key, None)
        decode = replace(build(DecodeConfig, values, str(path)), **changes)
        if not decoding:
            return decode
        form = self.system.decoding
        decode = decode.named(decoding)
        if not form.sizes_in(decoding):
            raise UserError(f"{decoding} does not decode a {self.system.name} model; use such as {form.example}")
        return decode

    def _tuning(self, path: Path) -> tuple[str, tuple[float, ...], float]:
        """What is tuned, the values to try, and the one that was chosen. Before tuning, the first value serves."""
        tuned = self.system.decoding.tuned
        grid: tuple[float, ...] = getattr(self.decode, tuned.grid)
        return tuned.key, grid, _tuned_value(path, tuned.least) if path.exists() else grid[0]

    @cached_property
    def engine(self) -> Engine:
        """Made when something is to be decoded: some only look at the model."""
        return engine_of(self.model, self.folder.run.objective, self.decode, self.device, latency=self.latency)

    def record(self) -> dict[str, Any]:
        """What decodes, and how: a score should tell."""
        name = self.system.decoding.name(self.decode)
        return {"engine": self.engine.name, "precision": self.engine.precision, "decode": name, "value": self.value}

    def translate(self, lines: Sequence[str], value: float | None = None) -> list[Translation]:
        """Plain text in; `value` stands in for the tuned length multiplier or penalty."""
        return [found[0] for found in self.best_translations(self.tokenise(lines), 1, value)]

    def translate_words(self, lines: Sequence[str], value: float | None = None) -> list[Translation]:
        """Tokenised text in."""
        return [found[0] for found in self.best_translations(lines, 1, value)]

    def best_translations(
        self,
        lines: Sequence[str],
        number: int,
        value: float | None = None,
        advance: Callable[[], None] = lambda: None,
    ) -> list[list[Translation]]:
        """Of tokenised text, best first, each another text; there may be fewer than asked for.

        An empty line stays empty; what exceeds the model's positions is cut off. `advance` is called after each.
        """
        value = self.value if value is None else value
        sources = [self.encode(line) for line in lines]
        self.num_cut = sum(self._is_cut(line, source) for line, source in zip(lines, sources, strict=True))
        results = [[EMPTY] for _ in lines]
        filled = [i for i, source in enumerate(sources) if len(source) > 1]
        for _ in range(len(lines) - len(filled)):
            advance()
        if not filled:
            return results
        asked = 1 if number == 1 else self.system.decoding.width(self.decode)  # some may be equal
        for row, hypotheses in self.engine.decode([sources[i] for i in filled], value, asked):
            results[filled[row]] = self._different([self.text(one) for one in hypotheses])[:number]
            advance()
        return results

    @staticmethod
    def _different(translations: list[Translation]) -> list[Translation]:
        """Hypotheses that differ in blanks or splits alone are one translation."""
        first: dict[str, Translation] = {}
        for one in translations:
            first.setdefault(one.words, one)
        return list(first.values())

    def tokenise(self, lines: Iterable[str]) -> list[str]:
        return [self.source.tokenise(line) for line in lines]

    def encode(self, words: str) -> list[int]:
        return [*self.source.encode(words)[: self.model.max_positions - 1], EOS]

    def _is_cut(self, words: str, ids: list[int]) -> bool:
        full = len(ids) == self.model.max_positions
        return full and len(self.source.encode(words)) >= self.model.max_positions

    def encode_target(self, words: str) -> list[int]:
        return [*self.target.encode(words)[: self.model.max_positions - 1], EOS]

    def text(self, found: Hypothesis) -> Translation:
        subwords = " ".join(self.target.vocab.decode(self.objective.read_out(found.ids)))
        words = self.target.words(subwords)
        return Translation(self.target.plain(words), words, subwords, found.score, found.ended, tuple(found.ids))
