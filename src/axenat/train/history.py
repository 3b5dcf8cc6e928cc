"""What a training tells: history.jsonl, the same on every rerun, and speed.jsonl with all that a clock says."""

import json
import math
import os
from pathlib import Path
from typing import Any

from axenat.files import write_lines
from axenat.train.checkpoint import HISTORY, TrainState

SPEED = "speed.jsonl"
Line = dict[str, Any]


def add(sums: dict[str, float], more: dict[str, float]) -> None:
    for name, value in more.items():
        sums[name] = sums.get(name, 0.0) + value


def averages(sums: dict[str, float]) -> dict[str, float]:
    count = sums["count"]
    result = {"loss": sums["total"] / count, "token_loss": sums["token_loss"] / count}
    if "length_loss" in sums:
        result["length_loss"] = sums["length_loss"] / count
    if "targets" in sums:
        result["skip_target_rate"] = sums["skip_targets"] / sums["targets"]
        result["skip_prediction_rate"] = sums["skip_predictions"] / sums["predictions"]
    return result


def train_line(state: TrainState, lr: float) -> Line:
    """All steps since the last line. Steps without an update count as skipped and say nothing else."""
    sums = state.window
    line: Line = {"kind": "train", "step": state.step, "epoch": state.epoch, "lr": lr}
    if "updates" in sums:
        line |= {"grad_norm": sums["grad_norm"] / sums["updates"], **averages(sums)}
        line["padding"] = 1 - sums["tokens"] / sums["positions"]
    return {**line, "skipped_steps": int(sums.get("skipped", 0))}


def append(folder: Path, state: TrainState, line: Line) -> None:
    # JSON knows no infinity.
    line = {key: value if not isinstance(value, float) or math.isfinite(value) else None for key, value in line.items()}
    with (folder / HISTORY).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")
        state.history_bytes = stream.tell()


def validations(folder: Path) -> list[str]:
    """Step and loss of each validation as lines of CSV, which more tools can plot."""
    lines = map(json.loads, (folder / HISTORY).read_text(encoding="utf-8").splitlines())
    return ["step,loss", *(f"{line['step']},{line['loss']}" for line in lines if line["kind"] == "valid")]


def settle(folder: Path) -> None:
    """A state tells how long the history is, so that much must be on disk before it."""
    with (folder / HISTORY).open("ab") as stream:
        os.fsync(stream.fileno())


def go_back(folder: Path, state: TrainState) -> None:
    """Lines written after the state was saved will be written again."""
    with (folder / HISTORY).open("ab") as stream:
        stream.truncate(state.history_bytes)
    speed = folder / SPEED
    if speed.exists():
        lines = speed.read_text(encoding="utf-8", errors="replace").splitlines()
        write_lines(speed, [line for line in lines if _step_in(line) <= state.step])


def _step_in(line: str) -> float:
    """Of a whole line; one that was only half written, or is rubbish, belongs to no step."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, TypeError, LookupError):
        return math.inf


def append_speed(folder: Path, line: Line) -> None:
    with (folder / SPEED).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")
