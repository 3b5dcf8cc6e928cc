"""How long a study will take, from the clock of earlier trainings and from Snakemake's benchmarks of other jobs.

Time is taken to grow with steps, tokens and parameters. That holds for models of a like size; a small model keeps its
machine less busy than a large one, so that what is taken from a much smaller one is too long.
"""

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from axenat.config import RunConfig
from axenat.estimates import num_parameters, parameters_of, work_of
from axenat.files import UserError, count_lines, read_mapping
from axenat.jobs import jobs_of
from axenat.layout import provenance_in
from axenat.preflight.findings import Finding, ok, warning
from axenat.records import build
from axenat.study import Study

SPEED = "checkpoints/speed.jsonl"
TEXT_KEYS = ("run", "source_language", "target_language", "joint")
FAR = 4.0  # work of a step that is so many times another's is no measure of it


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """One that was measured."""

    objective: str
    work: float
    work_of_step: float
    seconds: float
    device: str


def check_duration(study: Study, results: Path, logs: Path) -> Finding:
    waiting = [run for run in study.runs if not is_trained(study, run, results)]
    if not waiting:
        return ok("time", f"all {len(study.runs)} runs are trained already")
    earlier = list(earlier_trainings(results, logs))
    if not earlier:
        words = f"{len(waiting)} trainings; no earlier one is here to say how long they take"
        return warning("time", words, f"let one train for some minutes, then check again: {SPEED} in its folder tells")
    hours, far = 0.0, False
    for run in waiting:
        parameters = parameters_of(study, run, _learnt(results, study.runs[run].corpus))
        seconds, is_far = estimate(study.runs[run], parameters, earlier)
        hours, far = hours + seconds / 3600, far or is_far
    devices = sorted({training.device for training in earlier})
    unit = "CPU-hours" if devices == ["cpu"] else "GPU-hours"
    words = (
        f"{len(waiting)} trainings, about {hours:,.1f} {unit} (from {len(earlier)} earlier, on {', '.join(devices)})"
    )
    others = seconds_of_others(jobs_of(study), logs) / 3600
    words += f"; other stages about {others:,.1f} hours, if texts are as large as last time" if others else ""
    if far:
        return warning("time", words, "do not rely on it: those were of another size; let one of these train a while")
    return ok("time", words)


def seconds_of_others(jobs: Mapping[str, int], logs: Path) -> float:
    """As long as their jobs took last time, on the mean."""
    total = 0.0
    for stage, number in jobs.items():
        found = [_job_seconds(path) for path in logs.glob(f"{stage}/*.tsv")] if stage != "train" else []
        total += number * statistics.mean(found) if found else 0.0
    return total


def estimate(run: RunConfig, parameters: int, earlier: Sequence[Training]) -> tuple[float, bool]:
    """Seconds, and whether they are taken from far away: the nearest in size counts, and of those its own kind."""
    work, step = work_of(run, parameters), float(run.train.tokens_per_step) * parameters

    def distance(training: Training) -> tuple[float, bool]:
        return round(abs(math.log(training.work_of_step / step)), 1), training.objective != run.objective.name

    nearest = min(map(distance, earlier))
    rates = [one.seconds / one.work for one in earlier if distance(one) == nearest]
    return work * statistics.median(rates), nearest[0] > math.log(FAR)


def is_trained(study: Study, run: str, results: Path) -> bool:
    """With the configuration that it has now."""
    folder = results / "runs" / run
    try:
        return (folder / "best.json").exists() and read_mapping(folder / "config.yaml") == study.section(
            "runs", run, "config"
        )
    except UserError:
        return False


def earlier_trainings(results: Path, logs: Path) -> Iterator[Training]:
    """Those in the folders of runs that tell how fast they were, finished or not."""
    for folder in sorted((results / "runs").glob("*")):
        try:
            run, parameters = _configured(folder, results)
        except UserError:  # an older version's, or only half there
            continue
        if seconds := seconds_of(folder, run.train.steps, logs):
            step = float(run.train.tokens_per_step) * parameters
            yield Training(
                objective=run.objective.name, work=work_of(run, parameters), work_of_step=step,
                seconds=seconds, device=_device(folder),
            )  # fmt: skip


def _device(folder: Path) -> str:
    """What a finished training says of itself."""
    return str(provenance_in(folder).get("device", "cpu"))


def _configured(folder: Path, results: Path) -> tuple[RunConfig, int]:
    """A run with its number of parameters."""
    values = read_mapping(folder / "config.yaml", *TEXT_KEYS)
    text = {key: values.pop(key) for key in TEXT_KEYS}
    run = build(RunConfig, values, str(folder / "config.yaml"))
    learnt = _learnt(results, run.corpus)
    if learnt is None:
        raise UserError(f"{results}: the vocabulary of {run.corpus} is not here")
    return run, num_parameters(run.system, run.model, *learnt, joint=bool(text["joint"]))


def _learnt(results: Path, corpus: str) -> tuple[int, int] | None:
    """Sizes of the vocabularies of source and target, once they are there."""
    paths = [results / "corpora" / corpus / "subwords" / f"vocab.{side}" for side in ("source", "target")]
    return (count_lines(paths[0]), count_lines(paths[1])) if all(path.exists() for path in paths) else None


def seconds_of(folder: Path, steps: int, logs: Path) -> float:
    """Of the whole training: the job's, unless it was resumed and measured only its last part; 0 if nobody knows."""
    return max(_job_seconds(logs / "train" / f"{folder.name}.tsv"), steps * _step_seconds(folder))


def _job_seconds(path: Path) -> float:
    try:
        return float(path.read_text(encoding="utf-8").splitlines()[-1].split("\t")[0])
    except (OSError, IndexError, ValueError):
        return 0.0


def _step_seconds(folder: Path) -> float:
    """The median of the lines, each of the steps since the one before it."""
    path, before, found = folder / SPEED, 0, []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
            if line["step"] > before:
                found.append(line["seconds"] / (line["step"] - before))
            before = line["step"]
        except (ValueError, TypeError, LookupError):
            continue  # half written
    return statistics.median(found) if found else 0.0
