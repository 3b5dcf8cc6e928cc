"""What a WMT study would cost on 8 and 16 GPUs, where its time goes, and how a plan grows to a hundred runs.

    make demo
    python -m benchmarks.scale --json scale.json

Measured here: what a step of a transformer base costs beside plain matrix products, the trainings and shards of the
demo, Snakemake's own time. Assumed, since no GPU is here: all that flags set. The jobs of the study are then put on
the GPUs one event after the other; queues, lost nodes and other people's jobs are not in it.
"""

import argparse
import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import torch

from axenat.estimates import FLOAT, parameters_of, space_of
from axenat.files import read_yaml
from axenat.jobs import jobs_of
from axenat.preflight.machine import BESIDE_WEIGHTS
from axenat.resources import resources_of
from axenat.study import Study, parse_study
from benchmarks.measure import arguments, report
from benchmarks.scale_jobs import Job, Rates, jobs_of_study, pairs_of, training_operations
from benchmarks.scale_rates import ROOT, calibrated, distilled, planned, small_stages, trained, with_runs

STUDIES = ("wmt14-en-de", "wmt17-en-zh")
PEAKS = {"A100": 312.0, "V100": 125.0}  # assumed: tera-operations a second in 16 bits, as their maker says
FLAGS = ("train_share", "decode_share", "doubling", "sentence_tokens", "web", "pairs_per_second",
         "jieba_lines_per_second")  # fmt: skip
WIDTHS = (8, 4, 2, 1)  # GPUs of a student's training
HOUR, DAY, GB = 3600.0, 24.0, 1e9


def longest_rest(jobs: Sequence[Job]) -> dict[str, float]:
    """From the start of each job to the end of all that waits for it, had everybody a GPU."""
    seconds, followers = {job.name: job.seconds for job in jobs}, {job.name: [] for job in jobs}
    for job in jobs:
        for before in job.after:
            followers[before].append(job.name)
    rest: dict[str, float] = {}
    for name in TopologicalSorter(followers).static_order():
        rest[name] = seconds[name] + max((rest[follower] for follower in followers[name]), default=0.0)
    return rest


def simulate(jobs: Sequence[Job], gpus: int) -> dict[str, tuple[float, float]]:
    """Begin and end of each job: whenever one ends, all that may and can begin do, the longest rest first."""
    for job in jobs:
        if job.gpus > gpus:
            raise ValueError(f"{job.name} needs {job.gpus} GPUs, there are {gpus}")
    rest, by_name = longest_rest(jobs), {job.name: job for job in jobs}
    waiting = sorted(jobs, key=lambda job: -rest[job.name])
    running: list[tuple[float, str]] = []
    spans: dict[str, tuple[float, float]] = {}
    done: set[str] = set()
    now, free = 0.0, gpus
    while waiting or running:
        for job in tuple(waiting):
            if job.gpus <= free and done.issuperset(job.after):
                waiting.remove(job)
                free -= job.gpus
                spans[job.name] = (now, now + job.seconds)
                heapq.heappush(running, (now + job.seconds, job.name))
        now, name = heapq.heappop(running)
        done.add(name)
        free += by_name[name].gpus
    return spans


def schedule(jobs: Sequence[Job], gpus: int) -> dict[str, Any]:
    """Hours of the whole and of GPUs, and what no number of GPUs, or no better order, could shorten."""
    spans = simulate(jobs, gpus)
    makespan = max(end for _, end in spans.values())
    by_rule: dict[str, float] = {}
    for job in jobs:
        if job.gpus:
            by_rule[job.rule] = by_rule.get(job.rule, 0.0) + job.gpus * job.seconds / HOUR
    work, path = sum(by_rule.values()), max(longest_rest(jobs).values()) / HOUR
    return {
        "hours": makespan / HOUR, "gpu_hours": work, "utilisation": work * HOUR / (gpus * makespan),
        "critical_path_hours": path, "at_least_hours": max(path, work / gpus), "gpu_hours_by_rule": by_rule,
    }  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = Rates(peak=0)
    parser.add_argument("--results", type=Path, default=Path("results"), help="of a finished demo")
    parser.add_argument("--logs", type=Path, default=Path("logs"), help="of the same")
    parser.add_argument("--gpus", type=int, nargs="+", default=[8, 16], help="how many there are")
    parser.add_argument("--runs", type=int, nargs="+", default=[10, 30, 100], help="sizes of studies to plan")
    parser.add_argument("--peak", nargs="+", metavar="GPU=TERA", default=[f"{name}={value:g}" for name, value in
                        PEAKS.items()], help="tera-operations a second (default: %(default)s)")  # fmt: skip
    for name in FLAGS:
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=float, default=getattr(known, name), help="(default: %(default)g)")


def main(argv: list[str] | None = None) -> None:
    args = arguments(__doc__, argv, 3, add_arguments)
    torch.set_num_threads(args.threads or 1)
    demo = parse_study(read_yaml(ROOT / "config/config.yaml"))
    measured = {
        "distillation": distilled(demo, args.results, args.logs),
        "trainings": trained(args.results),
        "stage_seconds": small_stages(demo, args.results, args.logs),
        "base_step": calibrated(args.rounds),
        "plans": planned(ROOT / f"config/{STUDIES[0]}.yaml", args.runs, args.rounds),
    }
    poll = read_yaml(ROOT / "slurm/config.yaml")["slurm-init-seconds-before-status-checks"]
    rates = Rates(peak=0, stage_seconds=measured["stage_seconds"], **{name: getattr(args, name) for name in FLAGS},
                  job_seconds=poll + 2 * measured["plans"][0]["cpu_seconds_of_one_job"])  # fmt: skip
    peaks = {name: 1e12 * float(value) for name, value in (word.split("=") for word in args.peak)}
    values = {name: read_yaml(ROOT / f"config/{name}.yaml") for name in STUDIES}
    studies = {name: parse_study(text) for name, text in values.items()}
    for number in args.runs:
        studies[f"{number} runs"] = parse_study(with_runs(values[STUDIES[0]], number))
    results = {
        "measured": measured, "assumed": {**asdict(rates), "peak": peaks},
        "studies": [about(name, study) for name, study in studies.items()],
        "schedules": [
            row for name, study in studies.items() for row in schedules(name, study, rates, peaks, args.gpus)
        ],
    }  # fmt: skip
    report(args.json, "scale", results, list(_table(results)))


def about(name: str, study: Study) -> dict[str, Any]:
    """What no rate changes: work, parameters, disk and memory."""
    asks, space = resources_of(study.resources).by_rule(), space_of(study, {})
    state = {run: BESIDE_WEIGHTS * FLOAT * parameters_of(study, run) for run in study.runs}
    disk = {"archives": space.archives, "text": space.text, "models": space.models,
            "in_training": sum(space.in_training.values()), "least": space.least, "most": space.most}  # fmt: skip
    return {
        "study": name, "runs": len(study.runs), "jobs": sum(jobs_of(study).values()),
        "pairs": {corpus: pairs_of(study, corpus) for corpus in study.corpora},
        "parameters": {run: parameters_of(study, run) for run in study.runs},
        "training_operations": {run: training_operations(study, run) for run in study.runs},
        "disk_bytes": disk, "training_state_bytes": state,
        "asked": {rule: asdict(ask) for rule, ask in asks.items()},
    }  # fmt: skip


def schedules(
    name: str, study: Study, rates: Rates, peaks: Mapping[str, float], numbers: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """As the study asks for its GPUs, as far as there are so many, and otherwise divided."""
    resources = resources_of(study.resources)
    asked = {rule: resources.by_rule()[rule].gpus for rule in ("train", "train_teacher")}
    for gpu, peak in peaks.items():
        for gpus in numbers:
            own = tuple(min(gpus, asked[rule]) for rule in ("train_teacher", "train"))
            others = [(teacher, width) for teacher in (gpus, gpus // 2) for width in WIDTHS if width <= gpus]
            for teacher, width in dict.fromkeys((own, *others)):
                widths = {"train": width, "train_teacher": teacher}
                jobs = jobs_of_study(study, resources, replace(rates, peak=peak), widths)
                yield {"study": name, "gpu": gpu, "gpus": gpus, "asked": (teacher, width) == own,
                       "gpus_of_teacher": teacher, "gpus_of_student": width, **schedule(jobs, gpus)}  # fmt: skip


def _table(results: dict[str, Any]) -> Iterator[list[str]]:
    measured = results["measured"]
    step, shards = measured["base_step"], measured["distillation"]
    speed = step["operations_per_second"]
    yield ["measured here, one core", "giga-operations/s", "of products", "", "", "", "", "", ""]
    yield ["matrix products", f"{speed / GB:.1f}", "1.00", *[""] * 6]
    for kind, share in step["predicted_over_measured"].items():
        yield [f"transformer base, {kind}", f"{share * speed / GB:.1f}", f"{share:.2f}", *[""] * 6]
    for row in [*({**row, "name": f"demo, {row['objective']}"} for row in measured["trainings"]),
                {**shards, "name": f"demo, distil, {shards['sentences_per_second']:.0f} sentences/s"}]:  # fmt: skip
        yield [row["name"], f"{row['operations_per_second'] / GB:.1f}", f"{row['operations_per_second'] / speed:.2f}",
               *[""] * 6]  # fmt: skip
    yield ["runs", "jobs", "plan, CPU s", "MB", "one job, CPU s", "MB", "all jobs twice, CPU h", "", ""]
    for row in measured["plans"]:
        twice = 2 * row["jobs"] * row["cpu_seconds_of_one_job"] / HOUR
        yield [str(row["runs"]), str(row["jobs"]), f"{row['cpu_seconds']:.1f}", f"{row['megabytes']:.0f}",
               f"{row['cpu_seconds_of_one_job']:.1f}", f"{row['megabytes_of_one_job']:.0f}",
               f"{twice:.1f}", "", ""]  # fmt: skip
    yield ["study", "runs", "jobs", "archives GB", "text GB", "models GB", "one training GB", "least GB", "most GB"]
    for row in results["studies"]:
        disk = row["disk_bytes"]
        one = disk["least"] - sum(disk[key] for key in ("archives", "text", "models"))
        cells = (disk["archives"], disk["text"], disk["models"], one, disk["least"], disk["most"])
        yield [row["study"], str(row["runs"]), str(row["jobs"]), *(f"{cell / GB:.1f}" for cell in cells)]
    yield ["study", "GPUs", "teacher, student", "days", "at least", "critical path", "GPU-hours", "in use", ""]
    for row in results["schedules"]:
        mark = "as asked" if row["asked"] else "best" if _is_best(row, results["schedules"]) else ""
        if mark:
            yield [row["study"], f"{row['gpus']} {row['gpu']}", f"{row['gpus_of_teacher']}, {row['gpus_of_student']}",
                   f"{row['hours'] / DAY:.2f}", f"{row['at_least_hours'] / DAY:.2f}",
                   f"{row['critical_path_hours'] / DAY:.2f}", f"{row['gpu_hours']:,.0f}", f"{row['utilisation']:.0%}",
                   mark]  # fmt: skip


def _is_best(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    same = [one["hours"] for one in rows if all(one[key] == row[key] for key in ("study", "gpu", "gpus"))]
    return row["hours"] == min(same)


if __name__ == "__main__":
    main()
