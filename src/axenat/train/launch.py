"""`axenat train --ranks N` starts its ranks, one process for each GPU: with srun in a job of Slurm, else with torchrun.

The process that is called becomes the launcher; its ranks find it and each other through ranks.py.
"""

import logging
import os
import socket
import sys
from collections.abc import Mapping, Sequence

import torch

from axenat.files import UserError

log = logging.getLogger(__name__)
LAUNCHED = "AXENAT_LAUNCHED"  # set for ranks, which must not launch anything


def become_launcher(ranks: int, nodes: int, threads: int | None) -> None:
    """Return in a rank, and where one process is all; else never."""
    for flag, value in (("--ranks", ranks), ("--nodes", nodes)):
        if value < 1:
            raise UserError(f"{flag} {value}: must be at least 1")
    command = launcher(os.environ, ranks, nodes, threads, torch.cuda.device_count())
    if not command:
        return
    # The batch script of a job runs on its first node, where rank 0 will be.
    os.environ.update({LAUNCHED: "1", **({"MASTER_ADDR": socket.gethostname()} if command[0] == "srun" else {})})
    log.info("%s starts %d processes", command[0], ranks)
    sys.stderr.flush()
    try:
        os.execvp(command[0], [*command, "-m", "axenat.cli", *sys.argv[1:]])
    except FileNotFoundError:
        raise UserError(f"{command[0]}: no such command, which starts the ranks of a training here") from None


def launcher(
    environment: Mapping[str, str], ranks: int, nodes: int, threads: int | None, gpus_here: int
) -> Sequence[str]:
    """The words before `-m axenat.cli`; none for a rank, and for one process alone."""
    if ranks == 1 or LAUNCHED in environment or "RANK" in environment:
        return ()
    if "SLURM_JOB_ID" in environment:
        return (
            "srun", f"--nodes={nodes}", f"--ntasks={ranks}", f"--cpus-per-task={threads or 1}", "--cpu-bind=none",
            "--kill-on-bad-exit=1",  # the others would wait for half an hour for one that died
            sys.executable,
        )  # fmt: skip
    if gpus_here < ranks:  # a step has the same tokens, however many take part
        log.warning("%d GPUs are here, not %d: there will be %d processes", gpus_here, ranks, max(1, gpus_here))
    if gpus_here < 2:
        return ()
    together = min(ranks, gpus_here)
    return (sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={together}")
