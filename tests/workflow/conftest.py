"""A copy of the workflow in a folder of its own, and Snakemake to run it there."""

import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support import warm

ROOT = Path(__file__).parents[2]
PARTS = ("workflow", "config", "slurm", "dvc.yaml", ".dvcignore", "environment.yml", "all")


class Workshop:
    def __init__(self, folder: Path, hash_seed: int = 0) -> None:
        """With another seed of hashes, sets have another order in all commands."""
        self.folder, self.hash_seed = folder, hash_seed
        for part in PARTS:
            source, target = ROOT / part, folder / part
            if source.is_symlink():
                target.symlink_to(source.readlink())
            elif source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)

    @property
    def path(self) -> str:
        """What these tests put into PATH, and before it commands that need not be imported each time."""
        return warm.path(self.hash_seed)

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """With the commands of `path` first, as after `source .venv/bin/activate`."""
        environment = {**os.environ, "PATH": self.path, "OMP_NUM_THREADS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
        environment.pop("MLFLOW_TRACKING_URI", None)
        return subprocess.run(
            command, cwd=self.folder, env=environment, input=stdin, capture_output=True, text=True, timeout=1200
        )

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("snakemake", *arguments)

    def plan(self, *arguments: str) -> dict[str, set[str]]:
        """What a dry run would do: each rule with the wildcards of its jobs."""
        done = self.snakemake("-n", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        jobs: dict[str, set[str]] = defaultdict(set)
        for block in re.split(r"\n(?=\[)", done.stdout):
            rule = re.search(r"^(?:local)?rule (\w+):", block, re.MULTILINE)
            if rule:
                wildcards = re.search(r"^    wildcards: (.*)$", block, re.MULTILINE)
                jobs[rule[1]].add(wildcards[1] if wildcards else "")
        return dict(jobs)

    def overlay(self, text: str) -> str:
        """A small file laid over a study."""
        path = self.folder / "overlay.yaml"
        path.write_text(text)
        return path.name


@pytest.fixture(scope="session")
def new_workshop() -> type[Workshop]:
    """For modules that share one workshop among their tests."""
    return Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)
