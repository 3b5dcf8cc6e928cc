"""`axenat check --profile slurm`: every limit of a cluster is held against the request of its own kind.

All numbers of the site, of its nodes and of the study differ, so that none can stand in for another.
"""

import re
from pathlib import Path

import pytest

from axenat import cli
from axenat.files import write_text, write_yaml
from axenat.jobs import jobs_of
from axenat.study import parse_study
from tests.stand_in import stand_in
from tests.studies import study

OF_STUDY = {"train": {"mem_mb": 4000, "runtime": 70}, "tune": {"cpus": 2}, "score": {"mem_mb": 2600, "runtime": 30}}
SITE = {
    "partition": "cpu",
    "gpu_partition": "gpu",
    "most_runtime": 200,
    "most_mem_mb": 9000,
    "resources": {
        "train": {"cpus": 6, "mem_mb": 7000, "runtime": 90, "gpus": 3},
        "distil": {"mem_mb": 20_000, "runtime": 500, "cpus": 5},
        "score": {"mem_mb": 3000},
    },
}
# What the jobs ask for together: as many nodes, cores, megabytes, GPUs and minutes as there are, and no more.
NODES = {"cpu": "1 5 9000 (null) 3:20:00", "gpu": "1 18 7000 gpu:3 1:30:00"}
VALUES = study(resources=OF_STUDY, corpora__own=...)
Line = tuple[str, str, str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AXENAT_SITE", raising=False)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    write_yaml(tmp_path / "mine.yaml", VALUES)
    write_yaml(tmp_path / "config/site.yaml", SITE)
    return tmp_path


@pytest.fixture
def check(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(*words: str, **nodes: str) -> list[Line]:
        """The lines of its list; commands of Slurm answer with these nodes."""
        answers = {f"--partition={name}": f"{text}\n" for name, text in (NODES | nodes).items()}
        named = "".join(f"{name}\n" for name in NODES)
        code = f"sys.stdout.write(''.join({answers!r}.get(word, '') for word in words) or {named!r})"
        stand_in(here / "bin", "sinfo", code)
        stand_in(here / "bin", "sacctmgr", "print('lab')")
        stand_in(here / "bin", "sbatch", "")
        monkeypatch.setenv("PATH", str(here / "bin"))
        capsys.readouterr()
        cli.main(["check", "--configfile", "mine.yaml", *words])
        lines = [line for line in capsys.readouterr().out.splitlines() if re.match(r"ok|warning|problem", line)]
        return [tuple(re.split(r"\s{2,}", line, maxsplit=2)) for line in lines]

    return run


def of(lines: list[Line], about: str) -> list[Line]:
    return [line for line in lines if line[1] == about]


def test_jobs_that_ask_for_all_that_is_there_fit(check) -> None:
    assert of(check("--profile", "slurm"), "nodes") == [("ok", "nodes", "every job fits on those of cpu, gpu")]


@pytest.mark.parametrize(
    ("partition", "nodes", "complaint"),
    [
        ("gpu", "1 17 7000 gpu:3 1:30:00", "18 cores a node are asked for, at most 17 are there"),
        ("gpu", "1 18 6999 gpu:3 1:30:00", "7000 MB a node are asked for, at most 6999 are there"),
        ("gpu", "1 18 7000 gpu:2 1:30:00", "3 GPUs a node are asked for, at most 2 are there"),
        ("gpu", "1 18 7000 gpu:3 1:29:00", "90 minutes are asked for, at most 89 are there"),
        ("cpu", "1 4 9000 (null) 3:20:00", "5 cores a node are asked for, at most 4 are there"),
        ("cpu", "1 5 8999 (null) 3:20:00", "9000 MB a node are asked for, at most 8999 are there"),
        ("cpu", "1 5 9000 (null) 3:19:00", "200 minutes are asked for, at most 199 are there"),
    ],
)
def test_one_less_of_anything_is_a_problem_of_the_jobs_that_ask_for_it(check, partition, nodes, complaint) -> None:
    jobs = {"gpu": "train, train_teacher", "cpu": "distil"}[partition]
    expected = ("problem", "nodes", f"{jobs}: {complaint} in partition {partition}")
    assert of(check("--profile", "slurm", **{partition: nodes}), "nodes") == [expected]


def asked_for(lines: list[Line]) -> dict[str, str]:
    """By rule, in words."""
    found = [words.split(": ") for _, _, words in of(lines, "asked for")]
    return {rule: ask for ask, listed in found for rule in re.findall(r"([a-z]\w*) \d+", listed)}


def test_a_site_is_laid_over_the_study_and_its_limits_bound_what_is_asked_for(check) -> None:
    asks = asked_for(check("--profile", "slurm"))
    assert asks["train"] == asks["train_teacher"] == "3 GPUs, 6 cores each, 7.0 GB a node, 1.5 h"
    assert asks["distil"] == "5 cores, 9.0 GB, 200 min", "memory and time of the site, cores of its resources"
    assert asks["score"] == "1 core, 3.0 GB, 0.5 h", "memory of the site, time of the study"
    assert asks["tune"] == "2 cores, 2.0 GB, 1 h", "of the study"
    assert asks["report"] == "1 core, 2.0 GB, 1 h", "of nobody"


def hours_of(ask: str) -> tuple[float, float]:
    """CPU-hours and GPU-hours of one job, from its words."""
    time = re.search(r"([\d.]+) (h|min)$", ask)
    cores, gpus = re.search(r"(\d+) cores?", ask), re.search(r"(\d+) GPUs?", ask)
    assert time and cores
    hours = float(time[1]) / {"h": 1, "min": 60}[time[2]]
    number = int(gpus[1]) if gpus else 0
    return hours * int(cores[1]) * max(1, number), hours * number


def test_hours_at_most_are_those_of_the_jobs_in_the_list(check) -> None:
    lines = check("--profile", "slurm")
    cpu = gpu = 0.0
    for _, _, words in of(lines, "asked for"):
        ask, listed = words.split(": ")
        number = sum(map(int, re.findall(r"\w+ (\d+)", listed)))
        cpu, gpu = cpu + number * hours_of(ask)[0], gpu + number * hours_of(ask)[1]
    ((_, _, words),) = of(lines, "at most")
    assert words.startswith(f"{cpu:,.0f} CPU-hours and {gpu:,.0f} GPU-hours,")
    assert round(cpu) != round(gpu)


def test_on_a_cluster_the_machine_here_is_not_judged_and_a_database_in_a_file_is(check) -> None:
    on_cluster, here = check("--profile", "slurm"), check()
    assert not of(on_cluster, "machine") and of(here, "machine")
    assert [of(lines, "tracking")[0][0] for lines in (on_cluster, here)] == ["warning", "ok"]
    assert not of(here, "nodes") and not of(here, "asked for"), "no cluster is asked without a profile"


def test_time_is_told_from_trainings_in_results_and_from_other_jobs_in_logs(here, check) -> None:
    known = parse_study(VALUES)
    write_yaml(here / "results/runs/ce/config.yaml", known.section("runs", "ce", "config"))
    for side in ("source", "target"):
        write_text(here / f"results/corpora/demo/subwords/vocab.{side}", "a\n" * 700)
    write_text(here / "results/runs/ce/checkpoints/speed.jsonl", '{"step": 5, "seconds": 3600}\n')
    for stage, seconds in {"tune": 1800, "score": 5400, "report": 900}.items():
        write_text(here / f"logs/{stage}/one.tsv", f"s\n{seconds}\n")
    ((_, _, words),) = of(check(), "time")
    jobs = jobs_of(known)
    others = (jobs["tune"] * 1800 + jobs["score"] * 5400 + jobs["report"] * 900) / 3600
    assert re.search(r"4 trainings, about [78]\.\d CPU-hours \(from 1 earlier, on cpu\)", words), words
    assert f"other stages about {others:,.1f} hours" in words
