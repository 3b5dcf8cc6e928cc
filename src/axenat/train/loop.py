"""The training loop: steps of a token budget, validation with fixed masks, and exact resumption."""

import hashlib
import json
import logging
import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from axenat.config import RunConfig, TrainConfig
from axenat.data.batches import Batch, collate, plan_batches
from axenat.data.corpus import ParallelCorpus
from axenat.files import UserError, sha256_of
from axenat.model.transformer import Transformer
from axenat.objectives.base import LossSum, Objective
from axenat.train.checkpoint import TrainState, keep_if_best, load_state, save_state
from axenat.train.devices import autocast, precision_of
from axenat.train.schedule import lr_at

log = logging.getLogger(__name__)
VALIDATION_SEED = 7  # the same masks at each validation, or losses could not be compared


@dataclass(frozen=True, slots=True)
class Setting:
    """What stays the same throughout a training."""

    run: RunConfig
    model: Transformer
    objective: Objective
    train: ParallelCorpus
    valid: ParallelCorpus
    folder: Path  # checkpoints and the growing history
    device: torch.device

    @property
    def history(self) -> Path:
        return self.folder / "history.jsonl"

    @property
    def state(self) -> Path:
        return self.folder / "state.safetensors"

    @property
    def speed(self) -> Path:
        """Timings stay out of the history, which must be the same on every rerun."""
        return self.folder / "speed.jsonl"


def fingerprint(config: dict[str, Any], *corpora: Path) -> str:
    """Hidden state must not outlive the configuration and data (train and valid) that it came from."""
    text = json.dumps(config, sort_keys=True) + "".join(map(sha256_of, corpora))
    return hashlib.sha256(text.encode()).hexdigest()


def seeded_model(seed: int, build: Callable[[], Transformer]) -> Transformer:
    """Initial weights from the run's seed alone."""
    torch.manual_seed(seed)
    return build()


def train(setting: Setting, mark: str) -> TrainState:
    """Train to the last step, from wherever an interrupted run of the same mark stopped."""
    config = setting.run.train
    _check_positions(setting)
    optimizer = torch.optim.AdamW(
        setting.model.parameters(), lr=0.0, betas=(config.adam_beta1, config.adam_beta2), eps=config.adam_eps,
        weight_decay=config.weight_decay, fused=True,
    )  # fmt: skip
    dtype = precision_of(config.precision, setting.device)
    scaler = torch.amp.GradScaler(setting.device.type, enabled=dtype == torch.float16)
    state = load_state(setting.state, setting.model, optimizer, scaler, mark)
    if state is None:
        shutil.rmtree(setting.folder, ignore_errors=True)
        setting.folder.mkdir(parents=True)
        setting.history.touch()
        state = TrainState()
    else:
        log.info("resuming after step %d of %d", state.step, config.steps)
    _truncate(setting.history, state.history_bytes)

    clock = _Clock()
    while state.step < config.steps:
        for batches in _steps(setting, state):
            add(state.window, _update(setting, state, batches, optimizer, scaler, dtype))
            if state.step % config.log_every == 0 or state.step == config.steps:
                _record_step(setting, state, optimizer, clock)
            if config.validate_every and state.step % config.validate_every == 0:
                _validate(setting, state, optimizer, scaler, dtype, mark)
            if state.step == config.steps:
                break
        else:
            state.epoch, state.position = state.epoch + 1, 0
            if not config.validate_every:
                _validate(setting, state, optimizer, scaler, dtype, mark)
    if not state.best or json.loads(setting.history.read_text().splitlines()[-1])["kind"] != "valid":
        _validate(setting, state, optimizer, scaler, dtype, mark)
    return state


def forget_state(setting: Setting) -> None:
    """Once the results are written: forcing the stage again shall mean training again."""
    setting.state.unlink(missing_ok=True)


def _check_positions(setting: Setting) -> None:
    for corpus in (setting.train, setting.valid):
        longest = int(max(corpus.source_lengths.max(), corpus.target_lengths.max()))
        if longest > setting.model.max_positions:
            raise UserError(
                f"{corpus.path} holds a sentence of {longest} tokens, but model.max_positions is "
                f"{setting.model.max_positions}; raise it or lower clean.max_length"
            )


def _steps(setting: Setting, state: TrainState) -> Iterator[list[Batch]]:
    """The rest of this epoch in steps; the position moves on as they are taken."""
    config = setting.run.train
    plan = list(plan_batches(
        setting.train.source_lengths, setting.train.target_lengths, config.tokens_per_batch,
        seed=setting.run.seed, epoch=state.epoch,
    ))  # fmt: skip
    per_step = max(1, config.tokens_per_step // config.tokens_per_batch)
    while state.position < len(plan):
        indices = plan[state.position : state.position + per_step]
        state.position += len(indices)
        yield [collate(setting.train, batch) for batch in indices]


def _update(setting: Setting, state: TrainState, batches: list[Batch], optimizer: torch.optim.Optimizer,
            scaler: torch.amp.GradScaler, dtype: torch.dtype) -> dict[str, float]:  # fmt: skip
    """One update over all micro-batches, their gradients divided once by the number of predicted tokens."""
    model, config = setting.model, setting.run.train
    model.train()
    state.step += 1
    sums: dict[str, float] = {}
    optimizer.zero_grad()
    for number, batch in enumerate(batches):
        rng = _seed(setting.run.seed, state.step, number)
        loss = _loss(setting, batch, rng, dtype)
        scaler.scale(loss.total).backward()  # type: ignore[no-untyped-call]
        add(sums, loss.detached())
        add(sums, {"tokens": int(batch.source_lengths.sum() + batch.target_lengths.sum())})
    scaler.unscale_(optimizer)
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.div_(sums["count"])
    norm = float(nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm))
    if not math.isfinite(norm) and not scaler.is_enabled():
        sentences = ", ".join(str(int(i)) for i in batches[0].index[:5])
        raise UserError(
            f"training diverged at step {state.step}: the gradient is not finite (sentences {sentences}, ...)"
        )
    for group in optimizer.param_groups:
        group["lr"] = lr_at(state.step, peak_lr=config.peak_lr, warmup_steps=config.warmup_steps)
    scaler.step(optimizer)
    scaler.update()
    return {**sums, "grad_norm": norm, "updates": 1}


def _loss(setting: Setting, batch: Batch, rng: torch.Generator, dtype: torch.dtype) -> LossSum:
    batch = batch.to(setting.device)
    canvas = setting.objective.canvas(batch, rng)
    with autocast(setting.device, dtype):
        output = setting.model(batch.source, batch.source_lengths, canvas.ids, canvas.lengths, setting.objective.causal)
        return setting.objective.loss(output, batch, canvas)


def _seed(seed: int, step: int, number: int) -> torch.Generator:
    """Dropout and masks of one micro-batch from its place alone, so that a resumed run draws the same."""
    dropout, masks = np.random.SeedSequence([seed, step, number]).generate_state(2, np.uint64)
    torch.manual_seed(int(dropout))
    return torch.Generator().manual_seed(int(masks))


def validation_loss(setting: Setting, dtype: torch.dtype = torch.float32) -> dict[str, float]:
    config: TrainConfig = setting.run.train
    plan = plan_batches(
        setting.valid.source_lengths, setting.valid.target_lengths, config.tokens_per_batch,
        seed=0, epoch=0, shuffle=False,
    )  # fmt: skip
    sums: dict[str, float] = {}
    setting.model.eval()
    with torch.no_grad():
        for number, indices in enumerate(plan):
            rng = torch.Generator().manual_seed(VALIDATION_SEED * 100_003 + number)
            add(sums, _loss(setting, collate(setting.valid, indices), rng, dtype).detached())
    return _averages(sums)


def _validate(setting: Setting, state: TrainState, optimizer: torch.optim.Optimizer,
              scaler: torch.amp.GradScaler, dtype: torch.dtype, mark: str) -> None:  # fmt: skip
    averages = validation_loss(setting, dtype)
    _append(setting.history, state, {"kind": "valid", "step": state.step, "epoch": state.epoch, **averages})
    log.info("step %d: valid loss %.4f", state.step, averages["loss"])
    keep_if_best(state, setting.folder, setting.model, averages["loss"], setting.run.train.keep_best)
    save_state(setting.state, state, setting.model, optimizer, scaler, mark)


class _Clock:
    """Seconds since it was last read."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def read(self) -> float:
        start, self.start = self.start, time.perf_counter()
        return self.start - start


def add(sums: dict[str, float], more: dict[str, float]) -> None:
    for name, value in more.items():
        sums[name] = sums.get(name, 0.0) + value


def _averages(sums: dict[str, float]) -> dict[str, float]:
    count = sums["count"]
    averages = {"loss": sums["total"] / count, "token_loss": sums["token_loss"] / count}
    if "length_loss" in sums:
        averages["length_loss"] = sums["length_loss"] / count
    if "targets" in sums:
        averages["skip_target_rate"] = sums["skip_targets"] / sums["targets"]
        averages["skip_prediction_rate"] = sums["skip_predictions"] / sums["predictions"]
    return averages


def _record_step(setting: Setting, state: TrainState, optimizer: torch.optim.Optimizer, clock: _Clock) -> None:
    sums, state.window = state.window, {}
    line = {
        "kind": "train", "step": state.step, "epoch": state.epoch, "lr": optimizer.param_groups[0]["lr"],
        "grad_norm": sums["grad_norm"] / sums["updates"], **_averages(sums),
    }  # fmt: skip
    _append(setting.history, state, line)
    seconds = clock.read()
    speed = {"step": state.step, "seconds": seconds, "tokens_per_second": sums["tokens"] / seconds}
    with setting.speed.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(speed) + "\n")
    log.info(
        "step %d/%d: loss %.4f, %.0f tokens/s",
        state.step, setting.run.train.steps, line["loss"], speed["tokens_per_second"],
    )  # fmt: skip


def _append(history: Path, state: TrainState, line: dict[str, Any]) -> None:
    with history.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")
        state.history_bytes = stream.tell()


def _truncate(history: Path, size: int) -> None:
    """Lines written after the last saved state will be written again."""
    with history.open("ab") as stream:
        stream.truncate(size)
