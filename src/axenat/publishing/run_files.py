"""What lies in the folder of a run: its configuration, what it said while it trained, and when."""

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axenat.files import UserError, alone, read_mapping, read_record, sha256_of
from axenat.layout import is_of_another_training
from axenat.tracking import Point

SYSTEM = "system.jsonl"  # beside speed.jsonl, and as it never the same twice
CONFIG_KEYS = ("run", "corpus", "target_side", "objective.name")
# Parameters under the paper's letters, where it has one.
PAPER_NAMES = {
    "objective.skip_target_penalty": "delta",
    "length_multiplier": "lambda",
    "num_length_candidates": "ell",
    "beam_size": "b",
}


def config_of(folder: Path) -> dict[str, Any]:
    return read_mapping(folder / "config.yaml", *CONFIG_KEYS)


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys as `train.peak_lr`, or as the paper calls them."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        result |= flat(value, f"{name}.") if isinstance(value, dict) else {PAPER_NAMES.get(name, name): value}
    return result


@dataclass(frozen=True, slots=True)
class History:
    """The lines of a history, as text; one that is being written is left for later."""

    path: Path
    lines: list[str]

    def sum_of(self, number: int) -> str:
        return hashlib.sha256("\n".join(self.lines[:number]).encode()).hexdigest()

    def values_after(self, number: int) -> Iterator[tuple[str, float, int]]:
        """Key, value and step of the lines after so many."""
        for place, line in enumerate(self.lines[number:], start=number + 1):
            try:
                record = json.loads(line)
                step = int(record["step"])
                found = {f"{record['kind']}/{key}": value for key, value in _numbers(record)}
            except (ValueError, TypeError, LookupError):
                words = "not a line of a history; take its run out, or delete its best.json and train it again"
                raise UserError(f"{self.path}, line {place}: {words}") from None
            yield from ((key, value, step) for key, value in found.items())


def history_of(folder: Path, *, live: bool) -> History:
    """Of a training that goes on, or was broken off, the history lies among its checkpoints."""
    path = folder / "checkpoints" / "history.jsonl" if live else folder / "history.jsonl"
    if not path.exists():
        raise UserError(f"{path}: no such file")
    lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")  # only a line feed ends a line
    return History(path, lines[:-1] if live or not lines[-1] else lines)


def is_finished(folder: Path) -> bool:
    """best.json is the last file that a training writes."""
    return (folder / "best.json").exists()


def has_begun(folder: Path) -> bool:
    """Whether there is a line to tell of a training that is not finished."""
    path = folder / "checkpoints" / "history.jsonl"
    return path.exists() and b"\n" in path.read_bytes()


def is_training(folder: Path) -> bool:
    """Whether a process on this machine, or one that shares its locks, trains in the folder now."""
    if not (folder / ".training").exists():
        return False
    try:
        with alone(folder / ".training", patience=0):
            return False
    except UserError:
        return True


def fingerprint(folder: Path, *others: Path, more: str = "") -> str:
    """Of the configuration, and of what else a stage's run in MLflow must not outlive."""
    sums = [sha256_of(path) for path in (folder / "config.yaml", *others) if path.exists()]
    return hashlib.sha256("\n".join([*sums, more]).encode()).hexdigest()


class Clock:
    """When the steps of a training were made, as far as speed.jsonl tells; otherwise counted from the run's start."""

    def __init__(self, folder: Path) -> None:
        self.lines = _whole_lines(folder, "speed.jsonl", "step")
        self.times = {int(line["step"]): round(1000 * line["time"]) for line in self.lines if "time" in line}
        self.steps = sorted(self.times)

    @property
    def started(self) -> int | None:
        line = self.lines[0] if self.lines else {}
        return round(1000 * (line["time"] - line["seconds"])) if {"time", "seconds"} <= line.keys() else None

    @property
    def ended(self) -> int | None:
        return max(self.times.values(), default=None)

    def points(self, values: Iterable[tuple[str, float, int]], start: int) -> list[Point]:
        """The same whenever they are asked for, so that a point that is sent twice is one."""
        return [Point(key, value, step, self._time(step, start)) for key, value, step in values]

    def _time(self, step: int, start: int) -> int:
        """Of the last line at or before this step."""
        place = bisect_right(self.steps, step)
        return self.times[self.steps[place - 1]] if place else start + step

    def speed_after(self, step: int) -> list[tuple[str, float, int]]:
        return [
            (f"speed/{key}", value, line["step"])
            for line in self.lines
            if line["step"] > step
            for key, value in _numbers(line)
        ]


def system_after(folder: Path, time: float) -> list[Point]:
    """What the machine did after this time; steps are seconds since the first line."""
    lines = _whole_lines(folder, SYSTEM, "time")
    return [
        Point(f"system/{key}", value, round(line["time"] - lines[0]["time"]), round(1000 * line["time"]))
        for line in lines
        if line["time"] > time
        for key, value in _numbers(line)
    ]


def scores_in(paths: Sequence[Path]) -> list[tuple[Path, dict[str, Any]]]:
    return [(path, read_record(path, "split", "decode", "signature")) for path in paths]


def numbers_in(record: Mapping[str, Any]) -> dict[str, float]:
    return dict(_numbers(record))


def _numbers(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """What can be drawn: neither words nor nothing, which is what a loss without an end is written as."""
    for key, value in record.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if is_number and key not in ("kind", "step", "time"):
            yield key, float(value)


def _whole_lines(folder: Path, name: str, key: str) -> list[dict[str, Any]]:
    """Records of this training with this number; a kill may leave half a line anywhere."""
    found, path = [], folder / "checkpoints" / name
    for line in path.read_bytes().split(b"\n")[:-1] if path.exists() and not is_of_another_training(folder) else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get(key), int | float):
            found.append(record)
    return found
