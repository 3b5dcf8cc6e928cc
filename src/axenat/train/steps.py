"""The corpus as a stream of steps: which micro-batches make an update, and which of them are ours."""

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, tee

import numpy as np
import numpy.typing as npt

from axenat.config import TrainConfig
from axenat.data.batches import Batch, plan_batches
from axenat.data.loader import load_batches
from axenat.train.checkpoint import TrainState
from axenat.train.setting import Setting

log = logging.getLogger(__name__)
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Update:
    indices: list[Indices]
    numbers: list[int]  # of ours; none: there are fewer micro-batches than ranks
    batches: list[Batch]  # ours; where there is none, one to go through the motions with
    ends_epoch: bool


def micro_batches(config: TrainConfig, world: int) -> tuple[int, int]:
    """How many make a step, and the tokens of each: a step keeps its tokens, and no device is idle."""
    number = max(math.ceil(config.tokens_per_step / config.tokens_per_batch), min(world, config.tokens_per_step))
    return number, config.tokens_per_step // number


def steps_from(setting: Setting, state: TrainState) -> Iterator[Update]:
    """From where the state is, epoch after epoch; whoever takes a step moves the state's position on."""
    ranks, corpus = setting.ranks, setting.train
    per_step, tokens = micro_batches(setting.run.train, ranks.world)
    if state.budget not in (0, tokens):
        log.warning("another number of devices needs other batches: this epoch is started again")
        state.position = 0
    state.budget = tokens
    while True:
        plan = plan_batches(
            corpus.source_lengths, corpus.target_lengths, tokens, seed=setting.run.seed, epoch=state.epoch
        )
        groups, ahead = tee(_grouped(islice(plan, state.position, None), per_step))
        ours = (indices for group, _ in ahead for indices in ranks.mine(group) or group[:1])
        batches = load_batches(corpus, ours, workers=setting.workers, pin=setting.device.type == "cuda")
        for group, last in groups:
            numbers = ranks.mine(range(len(group)))
            yield Update(group, numbers, list(islice(batches, max(1, len(numbers)))), last)


def _grouped(plan: Iterator[Indices], size: int) -> Iterator[tuple[list[Indices], bool]]:
    """`size` at a time, and whether it is the last time."""
    group = list(islice(plan, size))
    while group:
        following = list(islice(plan, size))
        yield group, not following
        group = following
