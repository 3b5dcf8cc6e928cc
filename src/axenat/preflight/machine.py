"""The machine itself: tools, processors, memory, GPUs. Torch is not imported, since that alone takes seconds."""

import os
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from axenat.estimates import FLOAT, parameters_of
from axenat.preflight.findings import Finding, ok, problem, warning
from axenat.progress import in_bytes
from axenat.study import Study

TOOLS = ("axenat", "snakemake", "dvc", "git")
BESIDE_WEIGHTS = 4  # gradient and two moments, with the weights
TORCH_ITSELF = 1 << 30  # with a small batch
LARGE = 20_000_000  # parameters that nobody trains on a CPU


def check_machine(study: Study, *, elsewhere: bool) -> list[Finding]:
    """`elsewhere`: trainings run on other machines, so that memory and GPUs here say nothing."""
    findings = [_tools()]
    if elsewhere:
        return findings
    largest = max(parameters_of(study, run) for run in study.runs)
    return [*findings, _memory(largest), _gpus(largest)]


def _tools() -> Finding:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return problem("tools", f"not on the path: {', '.join(missing)}", "source .venv/bin/activate")
    return ok("tools", f"{', '.join(TOOLS)} are on the path")


def _memory(parameters: int) -> Finding:
    need, free = BESIDE_WEIGHTS * FLOAT * parameters + TORCH_ITSELF, _available()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    words = f"{cores} cores, about {in_bytes(need)} of memory for each training"
    if free is None:
        return ok("machine", words)
    if free < need:
        return warning("machine", f"{words}, {in_bytes(free)} free", "end other programs, or take a larger machine")
    return ok("machine", f"{words}, {in_bytes(free)} free")


def _available() -> int | None:
    """Bytes; None where the kernel does not tell."""
    path = Path("/proc/meminfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)


def _gpus(parameters: int) -> Finding:
    gpus, build = _seen_by_driver(), _torch()
    if not gpus:
        if parameters < LARGE:
            return ok("GPUs", "none here; models of this size can be trained on a CPU")
        words = f"none here, and models have up to {parameters / 1e6:.0f} million parameters"
        return warning("GPUs", words, "use a machine with GPUs, or --profile slurm")
    words = f"{len(gpus)}: {', '.join(sorted(set(gpus)))}"
    if build.endswith("+cpu"):
        return warning("GPUs", f"{words}, but torch {build} cannot use them", "install a build of torch for CUDA")
    return ok("GPUs", words)


def _seen_by_driver() -> list[str]:
    command = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def _torch() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:
        return "none"
