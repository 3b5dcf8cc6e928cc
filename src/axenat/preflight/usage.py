"""After a run: what its jobs asked for against what they used, and what to ask for next time.

Snakemake's benchmarks tell of every job, with a cluster or without. They look at the processes of the rule, not at
Snakemake itself: twice a second at first, later twice a minute, so that a peak may be missed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from axenat.jobs import jobs_of
from axenat.preflight.duration import seconds_of
from axenat.resources import OF_TEACHERS, STAGES, Ask
from axenat.site import DAY, Site
from axenat.study import Study

SNAKEMAKE_MB = 500  # two processes of it in each job of a cluster, which no benchmark counts
SPARE = 1.25  # of memory
TIMES, LEAST_MINUTES = 2, 10  # of the longest job
STEP_MB, STEP_MINUTES = 500, 5  # suggestions are rounded up to these
NOTICEABLE = 1.5
SEEN, SEEN_CPU = 2.0, 1.0  # seconds: what takes less was looked at before it had begun
TEACHER = "_teacher"


@dataclass(frozen=True, kw_only=True, slots=True)
class Used:
    """What one job used."""

    rule: str
    seconds: float
    cpu_seconds: float
    mem_mb: float | None  # of a node; None: nobody saw
    resumed_seconds: float = 0.0  # of all jobs of a training, of which this is the last
    gpus: int | None = None  # None: what was asked for
    whole: bool = False  # Snakemake's own processes are counted, as Slurm does


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """All jobs of a rule; what is None is not known, or is no better than what is asked for."""

    rule: str
    ask: Ask
    jobs: int
    mem_mb: float | None  # the most
    seconds: float  # the longest
    load: float | None  # processors at work on the mean
    hours: float  # of all jobs together
    cpu_hours: float  # of processors at work
    gpu_hours: float  # that jobs were given
    better_mem_mb: int | None
    better_runtime: int | None


def in_order(study: Study, asks: Mapping[str, Ask]) -> dict[str, Ask]:
    """As the pipeline goes, teachers first."""
    rules = [rule for stage in jobs_of(study) for rule in (f"{stage}{TEACHER}", stage)]
    return {rule: asks[rule] for rule in rules if rule in asks}


def benchmarks(study: Study, results: Path, logs: Path) -> tuple[list[Used], int]:
    """Those below `logs` by stage, and how many are half written or tell nothing of memory."""
    found: list[Used] = []
    passed_over = 0
    for stage in STAGES:
        for path in sorted((logs / stage).glob("*.tsv")):
            teacher = stage in OF_TEACHERS and path.stem in study.teachers
            used = _used(f"{stage}{TEACHER}" if teacher else stage, path)
            if used and stage == "train" and path.stem in study.runs:
                whole = seconds_of(results / "runs" / path.stem, study.runs[path.stem].train.steps, logs)
                used = replace(used, resumed_seconds=whole)
            found += [used] if used else []
            passed_over += used is None
    return found, passed_over


def _used(rule: str, path: Path) -> Used | None:
    try:
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        values = dict(zip(header.split("\t"), lines[-1].split("\t"), strict=True))
        seconds, cpu_seconds, mem_mb = (float(values[name]) for name in ("s", "cpu_time", "max_rss"))
    except (OSError, ValueError, LookupError):
        return None
    seen = seconds > SEEN and cpu_seconds > SEEN_CPU
    return Used(rule=rule, seconds=seconds, cpu_seconds=cpu_seconds, mem_mb=mem_mb if seen else None)


def rows_of(asks: Mapping[str, Ask], used: Iterable[Used], site: Site) -> list[Row]:
    """In the order of `asks`; rules without a job are left out."""
    jobs: dict[str, list[Used]] = {}
    for one in used:
        jobs.setdefault(one.rule, []).append(one)
    return [_row(rule, ask, jobs[rule], site) for rule, ask in asks.items() if rule in jobs]


def _row(rule: str, ask: Ask, jobs: Sequence[Used], site: Site) -> Row:
    """Slurm counts every job and its ranks; without it the benchmarks do. For memory both have a say."""
    counted = [job for job in jobs if job.whole] or list(jobs)
    # Ranks that srun has started are not below the process that a benchmark looks at.
    seen = [job for job in jobs if job.mem_mb is not None and (job.whole or ask.ranks == 1)]
    busy = [job for job in counted if job.seconds > SEEN and (job.whole or ask.ranks == 1)]
    longest = max(max(job.seconds, job.resumed_seconds) for job in jobs)
    needed = max((needed_mb(job) for job in seen), default=None)
    return Row(
        rule=rule, ask=ask, jobs=len(counted), seconds=longest,
        mem_mb=max((job.mem_mb or 0.0 for job in seen), default=None),
        load=sum(job.cpu_seconds for job in busy) / sum(job.seconds for job in busy) if busy else None,
        hours=sum(job.seconds for job in counted) / 3600,
        cpu_hours=sum(job.cpu_seconds for job in counted) / 3600,
        gpu_hours=sum((ask.gpus if job.gpus is None else job.gpus) * job.seconds for job in counted) / 3600,
        better_mem_mb=None if needed is None else _if_better(ask.mem_mb, needed, better_mem_mb(needed, site)),
        better_runtime=_if_better(ask.runtime, longest / 60, better_runtime(longest, site)),
    )  # fmt: skip


def needed_mb(job: Used) -> float:
    return (job.mem_mb or 0.0) + (0 if job.whole else SNAKEMAKE_MB)


def better_mem_mb(needed: float, site: Site) -> int:
    better = _rounded_up(SPARE * needed, STEP_MB)
    return min(better, site.most_mem_mb or better)


def better_runtime(seconds: float, site: Site) -> int:
    return min(site.most_runtime or DAY, max(LEAST_MINUTES, _rounded_up(TIMES * seconds / 60, STEP_MINUTES)))


def _rounded_up(value: float, step: int) -> int:
    return step * math.ceil(value / step)


def _if_better(asked: int, needed: float, better: int) -> int | None:
    noticeable = max(asked, better) > NOTICEABLE * min(asked, better)
    return better if better != asked and (noticeable or needed > asked) else None


def suggested(rows: Iterable[Row], asks: Mapping[str, Ask]) -> dict[str, dict[str, int]]:
    """As `resources` takes it. Teachers and students share one key, so that the larger wish counts.

    `asks` are those of all rules that the study has jobs of: whoever has not run yet keeps what it asks for.
    """
    better = {row.rule: {"mem_mb": row.better_mem_mb, "runtime": row.better_runtime} for row in rows}
    found: dict[str, dict[str, int]] = {}
    for stage in dict.fromkeys(rule.removesuffix(TEACHER) for rule in asks):
        rules = [rule for rule in (stage, f"{stage}{TEACHER}") if rule in asks]
        for key in ("mem_mb", "runtime"):
            asked = [int(getattr(asks[rule], key)) for rule in rules]
            wished = [better.get(rule, {}).get(key) or own for rule, own in zip(rules, asked, strict=True)]
            if wished != asked and asked != [max(wished)] * len(asked):
                found.setdefault(stage, {})[key] = max(wished)
    return found


def as_table(rows: Sequence[Row]) -> list[str]:
    heads = ("rule", "jobs", "MB asked", "used", "better", "minutes asked", "longest", "better", "cores", "at work")
    cells = [
        (
            row.rule, f"{row.jobs}", f"{row.ask.mem_mb}", _or_dash(row.mem_mb, ".0f"), _or_dash(row.better_mem_mb),
            f"{row.ask.runtime}", _clock(row.seconds), _or_dash(row.better_runtime),
            f"{row.ask.cpus * row.ask.ranks}", _or_dash(row.load, ".1f"),
        )
        for row in rows
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = [[cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in (heads, *cells)]
    return ["  ".join([line[0].strip().ljust(widths[0]), *line[1:]]) for line in lines]


def _clock(seconds: float) -> str:
    unit, name = next((unit, name) for unit, name in ((3600, "h"), (60, "min"), (0, "s")) if seconds >= 2 * unit)
    return f"{seconds / unit:.1f} {name}" if unit else f"{seconds:.0f} s"


def _or_dash(value: float | None, shape: str = "") -> str:
    return "-" if value is None else format(value, shape)


def notes(
    rows: Sequence[Row], better: Mapping[str, object], passed_over: int, in_slurm: Sequence[Used] | None
) -> list[str]:
    """Below the table, in sentences."""
    together = {"hours": "hours", "cpu_hours": "CPU-hours at work", "gpu_hours": "GPU-hours given"}
    totals = {words: sum(getattr(row, name) for row in rows) for name, words in together.items()}
    listed = ", ".join(f"{total:,.1f} {words}" for words, total in totals.items() if total)
    found = [f"All {sum(row.jobs for row in rows)} jobs together: {listed}."]
    if any(row.mem_mb is None for row in rows):
        found += ["A dash below used: jobs were over before anybody looked, or had ranks that only Slurm can see."]
    if passed_over:
        found += [f"{passed_over} benchmarks are half written or tell nothing of memory; they are passed over."]
    if in_slurm is None:
        found += [
            "Slurm tells nothing here: no workflow was sent to it, or sacct does not answer. Benchmarks alone count."
        ]
    else:
        found += [f"Slurm tells of {len(in_slurm)} jobs; for memory the benchmarks count as well."]
    if better:
        where = "For the resources of config/site.yaml, beside what stands there, or of the study for everybody"
        return [*found, f"{where}; larger texts or models need more than these did:"]
    return [*found, "What is asked for fits."]


def as_yaml(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """To be pasted."""
    keys = {stage: ", ".join(f"{key}: {value}" for key, value in of_stage.items()) for stage, of_stage in found.items()}
    return ["resources:", *(f"  {stage}: {{{listed}}}" for stage, listed in keys.items())]
