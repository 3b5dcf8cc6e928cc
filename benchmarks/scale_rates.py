"""What this machine can measure of a large study: operations a second, steps, shards, and Snakemake itself.

Whether six operations a parameter and token are a fair count of a training is seen on a CPU: steps and plain matrix
products take turns. Seconds are those of a processor, which other work on the machine changes least.
"""

import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from axenat.config import ModelConfig
from axenat.data.corpus import ParallelCorpus
from axenat.estimates import num_parameters
from axenat.files import count_lines, read_record, read_yaml, write_yaml
from axenat.preflight.duration import earlier_trainings
from axenat.preflight.usage import benchmarks
from axenat.study import Study
from axenat.systems.registry import MASKED, settings_of
from axenat.timing import Seconds, medians, ratio
from benchmarks.preprocessing import run_watched
from benchmarks.scale_jobs import TRAINED, sentence_operations
from benchmarks.training import Size, caption_lengths, our_steps, random_corpus

ROOT = Path(__file__).parents[1]
EDGE, PRODUCTS = 1024, 20  # of matrices that are timed
BASE = Size(ModelConfig(), 32_768, 1_024, caption_lengths, 400, 1)
DEMO_TOKENS = 13.9  # of a target sentence, its end included
WHOLE, ONE = "all", "results/runs/teacher/config.yaml"
KINDS = ("left_to_right", "masked", "axe")
# Stages of the demo that show how long a job takes beside its work: start-up, reading, writing.
SMALL = ("download", "average", "tune", "gather", "translate", "score", "analyse", "choose", "speed", "summarise",
         "tables", "figures", "report")  # fmt: skip


def products() -> Callable[[], object]:
    left, right = (torch.randn(EDGE, EDGE) for _ in range(2))
    return lambda: [left @ right for _ in range(PRODUCTS)]


def in_turns(functions: Mapping[str, Callable[[], object]], rounds: int) -> Seconds:
    """Seconds of this process; the first round warms up."""
    seconds: Seconds = {name: [] for name in functions}
    for _ in range(1 + rounds):
        for name, function in functions.items():
            start = time.process_time()
            function()
            seconds[name].append(time.process_time() - start)
    return {name: values[1:] for name, values in seconds.items()}


def calibrated(rounds: int, size: Size = BASE) -> dict[str, Any]:
    """Of one model: seconds of a step that the formula gives with the speed of products, over those that it took."""
    with tempfile.TemporaryDirectory() as folder:
        columns = size.lengths(np.random.default_rng(1), size.pairs)
        corpus = ParallelCorpus(random_corpus(Path(folder) / "ids", columns, size.V))
        steps = {kind: our_steps(size, settings_of(kind), corpus, {}) for kind in KINDS}
        timed = {kind: partial(next, step) for kind, step in steps.items()}
        seconds = in_turns({"products": products(), **timed}, rounds)
    parameters = num_parameters(MASKED, size.model, size.V, size.V, joint=True)
    work, one = TRAINED * parameters * size.tokens, 2 * PRODUCTS * EDGE**3
    return {
        "parameters": parameters,
        "tokens": size.tokens,
        "operations_per_second": one / medians(seconds)["products"],
        "seconds_of_a_step": {kind: medians(seconds)[kind] for kind in KINDS},
        "predicted_over_measured": {kind: work / one * ratio(seconds, "products", kind) for kind in KINDS},
    }


def trained(results: Path) -> list[dict[str, Any]]:
    """Finished trainings in a folder of results: operations a second, by the formula, on the median of their steps."""
    by_kind: dict[str, list[float]] = {}
    for one in earlier_trainings(results, Path("of no job")):
        by_kind.setdefault(one.objective, []).append(TRAINED * one.work / one.seconds)
    return [
        {"objective": kind, "runs": len(speeds), "operations_per_second": statistics.median(speeds)}
        for kind, speeds in by_kind.items()
    ]


def distilled(study: Study, results: Path, logs: Path) -> dict[str, Any]:
    """Sentences a second of a whole job that translates a shard of the demo, and operations a second by the formula."""
    rates = []
    for path in sorted(results.glob("corpora/demo/distilled/shards/*.json")):
        job = logs / "distil" / f"demo-{path.stem}.tsv"
        if job.exists():
            rates.append(read_record(path)["lines"] / float(job.read_text().splitlines()[-1].split("\t")[0]))
    if not rates:
        raise SystemExit(f"{results} and {logs} have no distilled shards; run make demo, or name another (see --help)")
    rate, vocabulary = statistics.median(rates), count_lines(results / "corpora/demo/subwords/vocab.target")
    operations = sentence_operations(study, "teacher", DEMO_TOKENS, vocabulary)
    return {"sentences_per_second": rate, "shards": len(rates), "operations_per_second": rate * operations}


def small_stages(study: Study, results: Path, logs: Path) -> dict[str, float]:
    """Seconds of the median job."""
    found: dict[str, list[float]] = {}
    for job in benchmarks(study, results, logs)[0]:
        found.setdefault(job.rule.removesuffix("_teacher"), []).append(job.seconds)
    return {stage: statistics.median(found[stage]) for stage in SMALL if stage in found}


def with_runs(study: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A teacher, cross entropy, and a grid of delta from 1 to 5."""
    kept = {name: study["runs"][name] for name in ("teacher", "ce-distilled", "axe-distilled")}
    deltas = [1 + round(4 * i / max(1, number - 3), 4) for i in range(number - 2)]
    objective = {**kept["axe-distilled"]["objective"], "skip_target_penalty": deltas}
    grid = {**kept["axe-distilled"], "objective": objective}
    return {**study, "runs": {**kept, "axe-distilled": grid}}


def planned(config: Path, numbers: list[int], rounds: int) -> list[dict[str, Any]]:
    """What `snakemake -n` takes for a whole study, and for one small file of it, as each job of a cluster reads it."""
    with tempfile.TemporaryDirectory() as name:
        folder, values = Path(name), read_yaml(config)
        commands, rows = {}, []
        for number in numbers:
            write_yaml(folder / f"{number}.yaml", with_runs(values, number))
            for target in (WHOLE, ONE):
                commands[number, target] = dry_run(folder, folder / f"{number}.yaml", target)
        seconds: dict[Any, list[float]] = {key: [] for key in commands}
        for _ in range(rounds):
            for key, command in commands.items():
                seconds[key].append(cpu_seconds(command))
        for number in numbers:
            row: dict[str, Any] = {"runs": number}
            for target, suffix in ((ONE, "_of_one_job"), (WHOLE, "")):
                megabytes, row["jobs"] = memory_and_jobs(commands[number, target], folder / "plan.txt")
                row |= {
                    f"cpu_seconds{suffix}": statistics.median(seconds[number, target]),
                    f"megabytes{suffix}": megabytes,
                }
            rows.append(row)
    return rows


def dry_run(folder: Path, study: Path, target: str) -> list[str]:
    words = ["-n", "--quiet", "rules", "--snakefile", str(ROOT / "workflow/Snakefile"), "--directory", str(folder)]
    return [sys.executable, "-m", "snakemake", *words, "--configfile", str(study), "--", target]


def cpu_seconds(command: list[str]) -> float:
    """Of a command that is silent."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def memory_and_jobs(command: list[str], plan: Path) -> tuple[float, int]:
    """The most MB, and the number of jobs as Snakemake counts them at the end of its plan."""
    silent = ["sh", "-c", f'exec "$@" > {shlex.quote(str(plan))} 2>&1', "sh", *command]
    _, megabytes = run_watched(silent)
    return megabytes, int(re.findall(r"^total\s+(\d+)$", plan.read_text(), re.MULTILINE)[-1])
