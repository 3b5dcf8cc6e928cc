"""Who made a result: commit, software, machine and data."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from axenat import __version__

PACKAGES = ("torch", "numpy", "numba", "sacrebleu", "subword-nmt", "sacremoses", "snakemake", "mlflow", "dvc")


def provenance(device: torch.device, train_ids_sha256: str) -> dict[str, Any]:
    return {
        "axenat": __version__,
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "machine": platform.machine(),
        "processor": processor(),
        "host": platform.node(),
        "cpus": os.cpu_count(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "slurm_job": os.environ.get("SLURM_JOB_ID"),
        "train_ids_sha256": train_ids_sha256,
    }


def processor() -> str:
    """Name and instructions in use: another kind rounds otherwise, and a training makes much of it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not on Linux
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {torch.backends.cpu.get_cpu_capability()}"


def _git(*arguments: str) -> str | None:
    """None outside a repository: a result made from an archive has no commit."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
