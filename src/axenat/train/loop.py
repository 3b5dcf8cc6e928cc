"""The training loop: steps of a token budget, validation with fixed masks, and exact resumption."""

import logging
import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from axenat.data.batches import Batch
from axenat.files import DISK_FULL, UserError
from axenat.objectives.base import Step
from axenat.progress import Advance, long_work
from axenat.train import history
from axenat.train.checkpoint import (
    HISTORY,
    TrainState,
    forget_unless_whole,
    keep_if_best,
    load_state,
    save_state,
    set_aside,
    tidy,
)
from axenat.train.devices import allow_fast_products, precision_of
from axenat.train.forward import ScoredModel, gather, loss_of, seeded, validation_loss
from axenat.train.optimizer import Optimizer, optimizer_of
from axenat.train.ranks import adding_up
from axenat.train.setting import Setting, check_positions
from axenat.train.signals import PreemptedError, Request, listening
from axenat.train.slurm_job import LEAVE
from axenat.train.steps import Update, steps_from
from axenat.train.stopwatch import Stopwatch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Engine:
    """A setting in motion."""

    setting: Setting
    mark: str
    model: nn.Module  # the setting's, or what makes it one of several
    optimizer: Optimizer
    dtype: torch.dtype
    watch: Stopwatch

    def save(self, state: TrainState) -> None:
        if self.setting.ranks.writes:
            history.settle(self.setting.folder)
            save_state(self.setting.folder, state, self.setting.model, self.optimizer, self.mark)


def train(setting: Setting, mark: str) -> TrainState:
    """Train to the last step, from wherever an interrupted run of the same mark stopped."""
    check_positions(setting)
    with listening(setting.folder / LEAVE) as request:
        engine, state = _ready(setting, mark)
        with _progress(setting, state) as advance, _saying_when_the_disk_is_full(setting, state):
            _run(engine, state, request, advance)
    if setting.ranks.writes and not state.best:
        raise UserError(f"{setting.history}: no validation had a finite loss; lower train.peak_lr or raise precision")
    return state


def _progress(setting: Setting, state: TrainState) -> AbstractContextManager[Advance]:
    """One of several ranks tells for all."""
    if setting.ranks.writes:
        return long_work(setting.run.train.steps, start=state.step)
    return nullcontext(lambda done, note="": None)


def _ready(setting: Setting, mark: str) -> tuple[Engine, TrainState]:
    """All that moves, as the newest state left it or new."""
    config = setting.run.train
    allow_fast_products(config.precision, setting.device)
    dtype = precision_of(config.precision, setting.device)
    optimizer = optimizer_of(config, setting.model.parameters(), dtype)
    with setting.ranks.first_alone():
        if setting.ranks.writes:
            forget_unless_whole(setting.folder, config.steps)
        found = load_state(setting.folder, setting.model, optimizer, mark)
        if setting.ranks.writes:
            _prepare(setting.folder, found)
    if found:
        log.info("resuming after step %d of %d", found.step, config.steps)
        if found.step == config.steps:
            log.info("nothing is left to train; to train it again, delete %s first", setting.folder)
    if config.compile:
        setting.model.compile(dynamic=True)
    model = setting.ranks.parallel(ScoredModel(setting.model, setting.objective), setting.device)
    return Engine(setting, mark, model, optimizer, dtype, Stopwatch(setting.device)), found or TrainState()


@contextmanager
def _saying_when_the_disk_is_full(setting: Setting, state: TrainState) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        raise UserError(
            f"{setting.folder}: {error.strerror} after step {state.step}; what was saved before is intact: "
            "make room and run the same command again"
        ) from None


def _prepare(folder: Path, found: TrainState | None) -> None:
    if found:
        tidy(folder, found)
        history.go_back(folder, found)
        return
    folder.mkdir(parents=True, exist_ok=True)
    set_aside(folder)
    (folder / HISTORY).touch()


def _run(engine: Engine, state: TrainState, request: Request, advance: Advance) -> None:
    config, saved = engine.setting.run.train, time.monotonic()
    steps, asked = steps_from(engine.setting, state), False
    while True:
        if asked:  # before a validation, for which there may be no time left
            engine.save(state)
            raise PreemptedError(f"asked to stop: saved after step {state.step}; run the same command again to go on")
        if state.due:
            _validate(engine, state)
        if state.due or time.monotonic() - saved > engine.setting.save_seconds:
            state.due = False
            engine.save(state)
            saved = time.monotonic()
        if state.step == config.steps:
            return
        with engine.watch.part("data", on_gpu=False):
            step = next(steps)
        asked = update(engine, state, step, asked=request.made())
        state.position += len(step.indices)
        note = ""
        if state.step % config.log_every == 0 or state.step == config.steps:
            note = _record(engine, state)
        if step.ends_epoch:
            state.epoch, state.position = state.epoch + 1, 0
        every = config.validate_every
        due = state.step % every == 0 if every else step.ends_epoch
        state.due = due or state.step == config.steps
        advance(state.step, note)


def update(engine: Engine, state: TrainState, step: Update, *, asked: bool = False) -> bool:
    """One update over all micro-batches of all ranks, their gradients divided once by the number of predicted tokens.

    Returns whether any rank was asked to stop.
    """
    setting = engine.setting
    if not setting.model.training:  # after a validation; asking is faster than telling all layers
        engine.model.train()
    state.step += 1
    engine.optimizer.forget_gradients()
    rows: list[dict[str, Tensor]] = []
    for place, batch in enumerate(step.batches):
        number = step.numbers[place] if step.numbers else 0
        rng = seeded(setting.device, setting.run.seed, state.step, number)
        at = Step(rng, state.step, setting.run.train.steps)
        if place < len(step.batches) - 1:
            with adding_up(engine.model):
                rows.append(_add_gradients(engine, batch, at))
        else:
            rows.append(_add_gradients(engine, batch, at, counts=bool(step.numbers)))
    with engine.watch.part("optimizer"):
        table, asked = gather(setting, rows, step.numbers, len(step.indices), asked)
        sums = {name: sum(column) for name, column in table.items()}
        finite = math.isfinite(sums["total"])
        # Several ranks leave the mean of their gradients.
        norm, updated = engine.optimizer.update(state.step, sums["count"] / setting.ranks.world, finite=finite)
    engine.watch.tokens += sums["tokens"]
    if updated:
        state.skipped = 0
        history.add(state.window, {**sums, "grad_norm": norm, "updates": 1})
    else:
        state.skipped += 1
        history.add(state.window, {"skipped": 1})
        _give_up_after_many(setting, state, step, table["total"])
    return asked


def _add_gradients(engine: Engine, batch: Batch, at: Step, counts: bool = True) -> dict[str, Tensor]:
    """A batch that does not count leaves gradients of zero: ranks wait for each other's."""
    with engine.watch.part("forward"):
        loss = loss_of(engine.setting, engine.model, batch, at, engine.dtype)
        total = loss.total if counts else 0.0 * loss.total
    with engine.watch.part("backward"):
        engine.optimizer.scaler.scale(total).backward()  # type: ignore[no-untyped-call]
    real = batch.source_lengths.sum() + batch.target_lengths.sum()
    return {**loss.sums(), "tokens": real, "positions": torch.tensor(batch.source.numel() + batch.target.numel())}


def _give_up_after_many(setting: Setting, state: TrainState, step: Update, totals: list[float]) -> None:
    guilty = [indices for indices, total in zip(step.indices, totals, strict=True) if not math.isfinite(total)]
    sentences = [int(i) + 1 for indices in guilty or step.indices for i in indices]
    named = ", ".join(map(str, sentences[:8])) + (", ..." if len(sentences) > 8 else "")
    what = "loss" if guilty else "gradient"
    if state.skipped <= setting.run.train.most_skipped:
        log.warning("step %d skipped: its %s is not finite (sentences %s)", state.step, what, named)
        return
    raise UserError(
        f"training diverged at step {state.step}: the {what} is not finite, {state.skipped} steps in a row "
        f"(now with sentences {named} of {setting.train.path}); lower train.peak_lr or look at these sentences"
    )


def _validate(engine: Engine, state: TrainState) -> None:
    setting = engine.setting
    with engine.watch.part("validation", on_gpu=False):
        averages = validation_loss(setting, engine.dtype)
    if setting.ranks.writes:
        history.append(setting.folder, state, {"kind": "valid", "step": state.step, "epoch": state.epoch, **averages})
        log.info("step %d: valid loss %.4f", state.step, averages["loss"])
        keep_if_best(state, setting.folder, setting.model, averages["loss"], setting.run.train.keep_best)


def _record(engine: Engine, state: TrainState) -> str:
    """A line of history and one of speed; what a person would like to see of them."""
    speed = engine.watch.read()
    line = history.train_line(state, engine.optimizer.lr(state.step))
    state.window = {}
    if engine.setting.ranks.writes:
        history.append(engine.setting.folder, state, line)
        history.append_speed(engine.setting.folder, {"step": state.step, "time": round(time.time(), 3), **speed})
    return f"loss {line['loss']:.4f}, {speed['tokens_per_second']:.0f} tokens/s" if "loss" in line else "all skipped"
