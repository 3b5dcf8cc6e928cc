"""How fast a run was trained, from what the clock said beside its checkpoints."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axenat.train.history import SPEED


def training_speed(folder: Path, benchmark: Path | None = None) -> dict[str, Any]:
    """Of a run's folder; what is unknown is None, as in a run that DVC restored.

    Medians of the lines, so that validations, pauses and the first steps count little. `total_seconds` is of the job
    that Snakemake measured: of a training that was resumed, of its last job alone.
    """
    return {**speed_of_lines(_lines(folder / "checkpoints" / SPEED)), "total_seconds": _job_seconds(benchmark)}


def speed_of_lines(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each line tells of the steps since the one before it."""
    before, per_step = 0, []
    for line in lines:
        if line["step"] > before:  # after a resumption the clock began anew
            per_step.append(1000 * line["seconds"] / (line["step"] - before))
        before = line["step"]
    return {
        "tokens_per_second": statistics.median(line["tokens_per_second"] for line in lines) if lines else None,
        "step_milliseconds": statistics.median(per_step) if per_step else None,
        "num_lines": len(lines),
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    """Whole ones; the last may be half written."""
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _job_seconds(benchmark: Path | None) -> float | None:
    """The first column of Snakemake's benchmark file."""
    if benchmark is None or not benchmark.exists():
        return None
    rows = benchmark.read_text(encoding="utf-8").splitlines()[1:]
    try:
        return float(rows[-1].split("\t")[0])
    except (IndexError, ValueError):
        return None
