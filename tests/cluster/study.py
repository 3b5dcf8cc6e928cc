"""A copy of the workflow whose jobs go to Slurm, and what Slurm says about them meanwhile."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.lab import run
from tests.workflow.conftest import Workshop

# Small steps, and states that are written often: there is much to lose in little time.
TRAINING = {"steps": 1000, "validate_every": 50, "log_every": 5}


class ClusterStudy(Workshop):
    """The tiny study, with differences."""

    def write(self, **differences: Any) -> "ClusterStudy":
        tiny = yaml.safe_load((self.folder / "config/tiny.yaml").read_text())
        if "runs" in differences:  # none of which is the teacher
            del tiny["corpora"]["demo"]["distil"]
        (self.folder / "study.yaml").write_text(yaml.safe_dump({**tiny, **differences}, sort_keys=False))
        return self

    def take(self, other: "ClusterStudy") -> "ClusterStudy":
        """What another has made, so that only what a test is about goes to Slurm."""
        for name in ("data", "results", ".snakemake"):
            shutil.copytree(other.folder / name, self.folder / name)
        return self

    def start(self, *words: str, profile: str | None = "slurm", **variables: str) -> "subprocess.Popen[str]":
        """Snakemake in the background, with what it says in snakemake.log."""
        where = ["--profile", profile] if profile else ["--cores", "2"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {
            **os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "MLFLOW_DISABLE_TELEMETRY": "true", **variables,
        }  # fmt: skip
        with (self.folder / "snakemake.log").open("a") as log:
            return subprocess.Popen(
                ["snakemake", *words, *where, "--configfile", "study.yaml"], cwd=self.folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True, start_new_session=True,
            )  # fmt: skip

    def finish(self, *words: str, **options: Any) -> None:
        self.end(self.start(*words, **options))

    def end(self, process: "subprocess.Popen[str]", seconds: float = 900) -> None:
        try:
            code = process.wait(seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        assert code == 0, self.said()[-8000:]

    def said(self) -> str:
        return (self.folder / "snakemake.log").read_text()

    def job_of(self, wildcard: str, rule: str = "train") -> str:
        """The number of the newest job that was sent for a rule."""
        found = re.findall(rf"SLURM jobid (\d+) \(log: .*/rule_{rule}/{re.escape(wildcard)}/", self.said())
        return found[-1] if found else ""

    def steps(self, name: str) -> int:
        """How far a training is, as its clock tells."""
        path = self.folder / f"results/runs/{name}/checkpoints/speed.jsonl"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def model(self, name: str) -> bytes:
        return (self.folder / f"results/runs/{name}/model.safetensors").read_bytes()

    def log(self, name: str) -> str:
        return (self.folder / f"logs/train/{name}.log").read_text()


def wait_until(question: Callable[[], object], process: "subprocess.Popen[str]", seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not question():
        assert process.poll() is None, "the workflow ended before"
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.3)


def squeue(*fields: str) -> list[dict[str, str]]:
    """All jobs that Slurm remembers."""
    words = ":100,".join(fields) + ":100"
    rows = run("squeue", "--noheader", "--states=all", f"--Format={words}").splitlines()
    return [
        dict(zip(fields, (row[i : i + 100].strip() for i in range(0, 100 * len(fields), 100)), strict=True))
        for row in rows
    ]


def jobs_in(folder: Path, rule: str, *fields: str) -> list[dict[str, str]]:
    """Those that a study in this folder has sent for a rule."""
    found = squeue(*fields, "Comment", "WorkDir")
    return [job for job in found if rule in job["Comment"] and job["WorkDir"] == str(folder)]
