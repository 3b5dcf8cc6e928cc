"""What a WMT study would cost on 8 and 16 GPUs, where its time goes, and how a plan grows to a hundred runs.

    make demo
    python -m benchmarks.scale --json scale.json
    python -m benchmarks.scale --measured scale.json --peak H100=990 --train-share 0.3    # your own assumptions

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
from axenat.files import read_record, read_yaml
from axenat.preflight.asked import jobs_by_rule
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
OTHERWISE = (("train_share", 0.25), ("train_share", 0.45), ("decode_share", 0.01), ("doubling", 0.9), ("doubling", 1.0),
             ("sentence_tokens", 60.0), ("pairs_per_second", 2_000.0), ("job_seconds", 600.0))  # fmt: skip
WIDTHS = (8, 4, 2, 1)  # GPUs of a student's training
HOUR, DAY, GB = 3600.0, 24.0, 1e9
COLUMNS = 9  # of what is printed


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
    stages: dict[str, dict[str, float]] = {}
    for job in jobs:
        stage = stages.setdefault(job.rule, {"jobs": 0, "gpus": job.gpus, "longest_hours": 0.0, "gpu_hours": 0.0})
        stage["jobs"] += 1
        stage["longest_hours"] = max(stage["longest_hours"], job.seconds / HOUR)
        stage["gpu_hours"] += job.gpus * job.seconds / HOUR
    work, path = sum(stage["gpu_hours"] for stage in stages.values()), max(longest_rest(jobs).values()) / HOUR
    return {
        "hours": makespan / HOUR, "gpu_hours": work, "utilisation": work * HOUR / (gpus * makespan),
        "critical_path_hours": path, "at_least_hours": max(path, work / gpus), "stages": stages,
    }  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = Rates(peak=0)
    parser.add_argument("--results", type=Path, default=Path("results"), help="of a finished demo")
    parser.add_argument("--logs", type=Path, default=Path("logs"), help="of the same")
    parser.add_argument("--measured", type=Path, help="what --json wrote, to measure nothing again")
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
    measured = read_record(args.measured, "measured")["measured"] if args.measured else measure(args)
    poll = read_yaml(ROOT / "slurm/config.yaml")["slurm-init-seconds-before-status-checks"]
    rates = Rates(peak=0, stage_seconds=measured["stage_seconds"], **{name: getattr(args, name) for name in FLAGS},
                  job_seconds=poll + 2 * measured["plans"][0]["cpu_seconds_of_one_job"])  # fmt: skip
    peaks = {name: 1e12 * float(value) for name, value in (word.split("=") for word in args.peak)}
    values = {name: read_yaml(ROOT / f"config/{name}.yaml") for name in STUDIES}
    studies = {name: parse_study(text) for name, text in values.items()}
    for number in (plan["runs"] for plan in measured["plans"]):
        studies[f"{number} runs"] = parse_study(with_runs(values[STUDIES[0]], number))
    results = {
        "measured": measured, "assumed": {**asdict(rates), "peak": peaks},
        "studies": [about(name, study) for name, study in studies.items()],
        "schedules": [
            row for name, study in studies.items() for row in schedules(name, study, rates, peaks, args.gpus)
        ],
        "otherwise": list(otherwise(STUDIES[0], studies[STUDIES[0]], rates, peaks, args.gpus)),
    }  # fmt: skip
    report(args.json, "scale", results, list(_table(results)))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    demo = parse_study(read_yaml(ROOT / "config/config.yaml"))
    return {
        "distillation": distilled(demo, args.results, args.logs),
        "trainings": trained(args.results),
        "stage_seconds": small_stages(demo, args.results, args.logs),
        "base_step": calibrated(args.rounds),
        "plans": planned(ROOT / f"config/{STUDIES[0]}.yaml", args.runs, args.rounds),
    }


def about(name: str, study: Study) -> dict[str, Any]:
    """What no rate changes: work, parameters, disk and memory."""
    asks, space = resources_of(study.resources).by_rule(), space_of(study, {})
    state = {run: BESIDE_WEIGHTS * FLOAT * parameters_of(study, run) for run in study.runs}
    disk = {"archives": space.archives, "text": space.text, "models": space.models,
            "in_training": sum(space.in_training.values()), "least": space.least, "most": space.most}  # fmt: skip
    return {
        "study": name, "runs": len(study.runs), "jobs": sum(jobs_by_rule(study).values()),
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


def otherwise(
    name: str, study: Study, rates: Rates, peaks: Mapping[str, float], numbers: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The first study on the first GPUs, as asked, with one assumption changed."""
    first = dict([next(iter(peaks.items()))])
    for key, value in OTHERWISE:
        row = next(schedules(name, study, replace(rates, **{key: value}), first, numbers[:1]))
        yield {**row, "changed": key, "value": value}


def _table(results: dict[str, Any]) -> Iterator[list[str]]:
    parts = (_measured(results["measured"]), _plans(results), _disk(results["studies"]), _stages(results),
             _schedules(results["schedules"]), _otherwise(results["otherwise"]))  # fmt: skip
    for part in parts:
        yield from ([*line, *[""] * (COLUMNS - len(line))] for line in part)
        yield [""] * COLUMNS


def _measured(measured: dict[str, Any]) -> Iterator[list[str]]:
    step, shards = measured["base_step"], measured["distillation"]
    speed = step["operations_per_second"]
    rows = {"matrix products": speed}
    rows |= {f"transformer base, {kind}": share * speed for kind, share in step["predicted_over_measured"].items()}
    rows |= {f"demo, {row['objective']}": row["operations_per_second"] for row in measured["trainings"]}
    rows[f"demo, distil, {shards['sentences_per_second']:.0f} sentences/s"] = shards["operations_per_second"]
    yield ["measured here, one core", "giga-operations/s", "of products"]
    yield from ([name, f"{value / GB:.1f}", f"{value / speed:.2f}"] for name, value in rows.items())


def _plans(results: dict[str, Any]) -> Iterator[list[str]]:
    in_cluster = {row["study"]: row["jobs"] for row in results["studies"]}
    yield [
        "runs",
        "jobs planned",
        "plan, CPU s",
        "MB",
        "one job, CPU s",
        "MB",
        "jobs in a cluster",
        "read twice, CPU h",
    ]
    for row in results["measured"]["plans"]:
        jobs = in_cluster[f"{row['runs']} runs"]
        cells = (row["cpu_seconds"], row["megabytes"], row["cpu_seconds_of_one_job"], row["megabytes_of_one_job"])
        twice = 2 * jobs * row["cpu_seconds_of_one_job"] / HOUR
        yield [str(row["runs"]), str(row["jobs"]), *(f"{cell:.1f}" for cell in cells), str(jobs), f"{twice:.1f}"]


def _disk(studies: list[dict[str, Any]]) -> Iterator[list[str]]:
    yield ["study", "archives GB", "text GB", "models GB", "one training GB", "least GB", "most GB", "GPU: teacher GB",
           "student GB"]  # fmt: skip
    for row in studies:
        disk, state = row["disk_bytes"], row["training_state_bytes"].values()
        one = disk["least"] - sum(disk[key] for key in ("archives", "text", "models"))
        cells = (
            disk["archives"],
            disk["text"],
            disk["models"],
            one,
            disk["least"],
            disk["most"],
            max(state),
            min(state),
        )
        yield [row["study"], *(f"{cell / GB:.1f}" for cell in cells)]


def _stages(results: dict[str, Any]) -> Iterator[list[str]]:
    """Of the first kind and number of GPUs."""
    asked = {row["study"]: row["asked"] for row in results["studies"]}
    yield ["stage", "jobs", "GPUs each", "longest h", "GPU-hours", "MB asked", "cores asked", "study", "GPUs"]
    for study in STUDIES:
        row = next(row for row in results["schedules"] if row["study"] == study and row["asked"])
        for rule, stage in row["stages"].items():
            ask = asked[study].get(rule)
            given = [f"{ask['mem_mb']}", f"{ask['cpus'] * max(1, int(stage['gpus']))}"] if ask else ["", ""]
            yield [rule, f"{stage['jobs']}", f"{stage['gpus']}", f"{stage['longest_hours']:.2f}",
                   f"{stage['gpu_hours']:,.1f}", *given, study, f"{row['gpus']} {row['gpu']}"]  # fmt: skip


def _schedules(rows: list[dict[str, Any]]) -> Iterator[list[str]]:
    yield ["study", "GPUs", "teacher, student", "days", "at least", "critical path", "GPU-hours", "in use", "order"]
    for row in rows:
        mark = "as asked" if row["asked"] else "best" if _is_best(row, rows) else ""
        days = [f"{row[key] / DAY:.2f}" for key in ("hours", "at_least_hours", "critical_path_hours")]
        if mark:
            yield [row["study"], f"{row['gpus']} {row['gpu']}", f"{row['gpus_of_teacher']}, {row['gpus_of_student']}",
                   *days, f"{row['gpu_hours']:,.0f}", f"{row['utilisation']:.0%}", mark]  # fmt: skip


def _otherwise(rows: list[dict[str, Any]]) -> Iterator[list[str]]:
    yield ["otherwise", "value", "days", "GPU-hours", "study", "GPUs"]
    for row in rows:
        cells = [f"{row['value']:g}", f"{row['hours'] / DAY:.2f}", f"{row['gpu_hours']:,.0f}"]
        yield [row["changed"], *cells, row["study"], f"{row['gpus']} {row['gpu']}"]


def _is_best(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    same = [one["hours"] for one in rows if all(one[key] == row[key] for key in ("study", "gpu", "gpus"))]
    return row["hours"] == min(same)


if __name__ == "__main__":
    main()
