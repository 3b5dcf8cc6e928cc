"""What stays the same throughout a training, and the mark by which its state is known again."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from axenat.config import RunConfig
from axenat.data.corpus import ParallelCorpus
from axenat.files import UserError
from axenat.model.transformer import Transformer
from axenat.objectives.base import Objective
from axenat.train.checkpoint import HISTORY
from axenat.train.ranks import ALONE, Ranks

STATE_FORMAT = "2"  # raised when states of before can no longer be resumed
SAVE_SECONDS = 600.0  # the most that a killed training loses


@dataclass(frozen=True, slots=True)
class Setting:
    run: RunConfig
    model: Transformer
    objective: Objective
    train: ParallelCorpus
    valid: ParallelCorpus
    folder: Path  # checkpoints and the growing history
    device: torch.device
    ranks: Ranks = ALONE
    workers: int = 0  # processes that prepare batches
    save_seconds: float = SAVE_SECONDS

    @property
    def history(self) -> Path:
        return self.folder / HISTORY


def fingerprint(config: dict[str, Any], *sums: str) -> str:
    """Hidden state must not outlive the configuration and the data that it came from.

    `sums` are the sha256 of the files of train and valid, and of the weights that the training starts from.
    """
    text = STATE_FORMAT + json.dumps(config, sort_keys=True) + "".join(sums)
    return hashlib.sha256(text.encode()).hexdigest()


def seeded_model(seed: int, build: Callable[[], Transformer]) -> Transformer:
    """Initial weights from the run's seed alone."""
    torch.manual_seed(seed)
    return build()


def check_positions(setting: Setting) -> None:
    """Before anything is trained: the longest sentence must have a position for each token."""
    most = setting.model.max_positions
    for corpus in (setting.train, setting.valid):
        source, target = int(corpus.source_lengths.max()), int(corpus.target_lengths.max())
        predictions = int(setting.objective.canvas_lengths(torch.tensor(target)))
        if max(source, target, predictions) > most:
            predicted = f" with {predictions} predictions" if predictions > max(source, target) else ""
            raise UserError(
                f"{corpus.path} holds a sentence of {max(source, target)} tokens{predicted}, but "
                f"model.max_positions is {most}; raise it or lower clean.max_length"
            )
