"""A run's folder as a translator: lines of text in, lines of text out, in order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from axenat.config import LEAST_TUNED, DecodeConfig, RunConfig
from axenat.data.batches import pad, plan_batches
from axenat.data.subwords import Subwords, undo
from axenat.data.text import clean_line, detokenise, tokenise
from axenat.data.vocab import EOS, Vocab, split_tokens
from axenat.decode.beam import beam_search
from axenat.decode.parallel import parallel_decode, shortest
from axenat.files import UserError, read_mapping, read_record
from axenat.model.transformer import Transformer
from axenat.objectives.base import Objective
from axenat.objectives.registry import objective_of
from axenat.progress import progress
from axenat.records import build
from axenat.train.average import check_texts
from axenat.train.checkpoint import load_tensors, load_weights

# Keys of a run's config.yaml that are about its text, not about its training.
TEXT_KEYS = ("run", "source_language", "target_language", "joint")


class Translation(NamedTuple):
    """One line in its three forms, and its score."""

    text: str
    words: str
    subwords: str
    score: float


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
    if not number or not least <= value < math.inf:
        raise UserError(f"{path}: value must be a number >= {least}, got {value!r}; tune the run again")
    return float(value)


def new_model(folder: RunFolder, objective: Objective, source_vocab: Vocab, target_vocab: Vocab) -> Transformer:
    return Transformer(
        folder.run.model, len(source_vocab), len(target_vocab),
        joint=folder.joint, predicts_length=objective.predicts_length,
    )  # fmt: skip


class Translator:
    """A trained model with all it needs to read and write text."""

    def __init__(self, path: str | Path, device: torch.device) -> None:
        path = Path(path)
        if not path.is_dir():
            raise UserError(f"{path}: no such folder; give a run's folder, such as results/runs/teacher")
        self.folder = read_run_config(path / "config.yaml")
        self.device = device
        weights = path / "model.safetensors"
        tensors, metadata = load_tensors(weights)
        check_texts(path, metadata)
        self.source_vocab, self.target_vocab = (
            Vocab.load(path / "vocab.source"),
            Vocab.load(path / "vocab.target"),
        )
        self.source_subwords = Subwords.load(path / "codes.source")
        self.target_subwords = Subwords.load(path / "codes.target")
        self.objective = objective_of(self.folder.run.objective)
        self.model = new_model(self.folder, self.objective, self.source_vocab, self.target_vocab)
        load_weights(self.model, tensors, weights)
        self.model.to(device).eval()
        self.tuned_key = self.folder.run.tuned_key
        decode = read_mapping(path / "decode.yaml")
        for key in ("run", "tuned_key"):  # for readers of the file
            decode.pop(key, None)
        self.decode = build(DecodeConfig, decode, str(path / "decode.yaml"))
        tuned = path / "tuned.json"
        self.grid = self.decode.length_penalties if self.objective.causal else self.decode.length_multipliers
        self.num_cut = 0  # lines of the last call that were longer than the model's positions
        # Before tuning, the grid's first value serves.
        self.value = _tuned_value(tuned, LEAST_TUNED[self.tuned_key]) if tuned.exists() else self.grid[0]

    def translate(self, lines: Sequence[str], value: float | None = None) -> list[Translation]:
        """Plain text in; `value` stands in for the tuned length multiplier or penalty."""
        language = self.folder.source_language
        return self.translate_words([tokenise(clean_line(line), language) for line in lines], value)

    def translate_words(self, lines: Sequence[str], value: float | None = None) -> list[Translation]:
        """Tokenised text in. An empty line stays empty; what exceeds the model's positions is cut off."""
        value = self.value if value is None else value
        sources = [self.encode(line) for line in lines]
        self.num_cut = sum(self._is_cut(line, source) for line, source in zip(lines, sources, strict=True))
        results = [Translation("", "", "", 0.0)] * len(lines)
        filled = np.array([i for i, source in enumerate(sources) if len(source) > 1], dtype=np.int64)
        if not len(filled):
            return results
        lengths = np.array([len(sources[i]) for i in filled])
        plan = list(plan_batches(lengths, lengths, self._rows(), seed=0, epoch=0, shuffle=False))
        for rows in progress(plan, total=len(plan), desc="translate"):
            outputs = self._decode([sources[i] for i in filled[rows]], value)
            for i, (ids, score) in zip(filled[rows], outputs, strict=True):
                results[i] = self._text(ids, score)
        return results

    def encode(self, words: str) -> list[int]:
        ids = self.source_vocab.encode(self.source_subwords.apply(words))
        return [*ids[: self.model.max_positions - 1], EOS]

    def _is_cut(self, words: str, ids: list[int]) -> bool:
        full = len(ids) == self.model.max_positions
        return full and len(split_tokens(self.source_subwords.apply(words))) >= self.model.max_positions

    def encode_target(self, words: str) -> list[int]:
        ids = self.target_vocab.encode(self.target_subwords.apply(words))
        return [*ids[: self.model.max_positions - 1], EOS]

    def _rows(self) -> int:
        """The token budget of a batch of sources, each of which becomes several hypotheses."""
        copies = self.decode.beam_size if self.objective.causal else self.decode.num_length_candidates
        return max(1, self.decode.tokens_per_batch // copies)

    @torch.inference_mode()
    def _decode(self, sources: list[list[int]], value: float) -> list[tuple[list[int], float]]:
        source, lengths = (tensor.to(self.device) for tensor in pad(sources))
        if self.objective.causal:
            found = beam_search(
                self.model, source, lengths, beam_size=self.decode.beam_size, length_penalty=value,
                banned=self.objective.banned,
            )  # fmt: skip
            best = [hypotheses[0] for hypotheses in found]
        else:
            best = parallel_decode(
                self.model, source, lengths, num_length_candidates=self.decode.num_length_candidates,
                length_multiplier=value, banned=self.objective.banned, least=shortest(self.folder.run.objective.eos),
            )  # fmt: skip
        return [(self.objective.read_out(one.ids), one.score) for one in best]

    def _text(self, ids: list[int], score: float) -> Translation:
        subwords = " ".join(self.target_vocab.decode(ids))
        words = undo(subwords)
        return Translation(detokenise(words, self.folder.target_language), words, subwords, score)
