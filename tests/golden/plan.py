"""What Snakemake plans for a study before anything is there: jobs with their files and commands, and targets.

A dry run is given every target by name, so that one that is gone is refused.
"""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.facts import entry
from tests.support.planned_jobs import FIELD, Job, jobs_in

PARTS = ("workflow", "config", "environment.yml", "all")
TARGETS = ("all", "tables", "raw_text", "report_so_far", *(f"table{number}" for number in range(2, 10)), "figure3")
SPLITS = ("train", "valid", "test")
RULE = re.compile(r"^(?:local)?rule (\S+):$", re.MULTILINE)
# More than any machine has: a job's threads must not depend on where it is planned.
CORES = "999"
# What a place of work says, and what no study does.
ELSEWHERE = ("AXENAT_SITE", "DVC_STAGE", "SLURM_JOB_ID", "SNAKEMAKE_PROFILE", "MLFLOW_TRACKING_URI")
OF_A_MACHINE = ("tmpdir", "mem", "mem_mib")
# Their commands name what the whole study has: its runs, its numbers of jobs.
OF_THE_STUDY = ("choose", "speed", "summarise", "tables", "figures", "report", "report_so_far")


def workplace(tree: Path, folder: Path) -> Path:
    """A copy of a checkout's workflow, for Snakemake to work in."""
    for part in PARTS:
        source, target = tree / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("site.yaml"))
        else:
            shutil.copy(source, target)
    return folder


def environment(tree: Path) -> dict[str, str]:
    """The code of a checkout and the tools of this environment."""
    found = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    paths = {"PATH": str(Path(sys.executable).parent), "PYTHONPATH": str(tree / "src")}
    for name, first in paths.items():
        found[name] = os.pathsep.join(filter(None, (first, found.get(name))))
    return {**found, "OMP_NUM_THREADS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}


@functools.cache
def _planner(tree: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).with_name("warm.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    planner = subprocess.Popen(command, env=environment(tree), text=True, **pipes)
    atexit.register(planner.communicate)
    return planner


def dry_run(tree: Path, folder: Path, config: str, values: Mapping[str, Any]) -> str:
    """Of everything that a study can make, in the words of Snakemake."""
    sections = [*(f"{stage}-{split}" for stage in ("download", "clean") for split in SPLITS), "subwords", "analysis"]
    files = [
        f"results/corpora/{corpus}/config/{section}.yaml"
        for corpus, keys in values["corpora"].items()
        for section in (*sections, *(["distil"] if keys.get("distil") else []))
    ]
    planner, output = _planner(tree), folder / "plan.txt"
    assert planner.stdin and planner.stdout
    words = ["-n", "--cores", CORES, *TARGETS, *files, "--configfile", config]
    request = {"folder": str(folder), "words": words, "output": str(output)}
    print(json.dumps(request), file=planner.stdin, flush=True)
    if json.loads(planner.stdout.readline()):
        said = "".join(path.read_text(encoding="utf-8")[-3000:] for path in sorted(folder.glob("plan.txt*")))
        raise SystemExit(f"golden: {config} cannot be planned: {said}")
    return output.read_text(encoding="utf-8")


def job_entries(plan: str) -> dict[str, str]:
    """Each job of a dry run, and each target that is no job. Those of `configure` are known by what they write."""
    jobs = {f"job {_title(job)}": _entries(job) for job in jobs_in(plan) if job.stage != "configure"}
    return {**jobs, **_targets(plan)}


def rules(plan: str) -> str:
    return "".join(f"{name}\n" for name in sorted(set(RULE.findall(plan))))


def resolved(plan: str) -> dict[str, str]:
    """The files that `axenat configure` writes, and the keys that its command holds for each."""
    return {job.outputs[0]: job.flags["--resolved"][0] for job in jobs_in(plan) if job.stage == "configure"}


def grouped(plan: str) -> dict[str, str]:
    """The jobs of each run and corpus in one text. Of those for the whole study, which new runs change, the outputs."""
    groups = defaultdict(list)
    for job in sorted(jobs_in(plan), key=_title):
        if job.stage in OF_THE_STUDY:
            groups[f"outputs of {job.rule}"].append(entry("output", job.outputs) + "\n")
        else:
            groups[f"jobs of {_owner(job)}"].append(f"{_title(job)}\n{_entries(job)}")
    return {name: "".join(texts) for name, texts in groups.items()}


def _owner(job: Job) -> str:
    if "run" in job.wildcards:
        return f"run {job.wildcards['run']}"
    if "place" in job.wildcards:
        return "archives"
    return f"corpus {job.wildcards['corpus'] if 'corpus' in job.wildcards else job.rule.split('_')[1]}"


def _title(job: Job) -> str:
    return " ".join([job.rule, *(f"{name}={value}" for name, value in job.wildcards.items())])


def _entries(job: Job) -> str:
    """Its flags with their values, `<` before a file that is read and `>` before one that is written; other files."""
    named = {word for values in job.flags.values() for word in values}
    lines = [entry(job.stage, [])]
    lines += [entry(flag, [_marked(word, job) for word in values]) for flag, values in job.flags.items()]
    lines += [entry("input", others)] if (others := [path for path in job.inputs if path not in named]) else []
    lines += [entry("output", others)] if (others := [path for path in job.outputs if path not in named]) else []
    asked = [f"{name}={value}" for name, value in job.resources.items() if name not in OF_A_MACHINE]
    lines.append(entry("asks", [f"threads={job.threads}", *asked]))
    return "".join(f"{line}\n" for line in lines)


def _marked(word: str, job: Job) -> str:
    if word.startswith("{"):
        return "{json}"
    return f"<{word}" if word in job.inputs else f">{word}" if word in job.outputs else word


def _targets(plan: str) -> dict[str, str]:
    found = {}
    for block in re.split(r"\n(?=\[)", plan):
        rule = RULE.search(block)
        if rule and "Shell command: axenat" not in block:
            files = dict(FIELD.findall(block)).get("input", "")
            found[f"target {rule[1]}"] = entry("input", filter(None, files.split(", "))) + "\n"
    return found
