"""The processes that train together, one for each device: who they are, and how their sums become one.

The only file that knows of other processes. A rank takes every world-th micro-batch of a step and every world-th batch
of valid; sums and gradients are added up, so that what is computed does not depend on how many ranks there are.
"""

import ctypes
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from axenat.files import UserError
from axenat.train.devices import device_of

T = TypeVar("T")
PATIENCE = timedelta(minutes=30)  # a rank may wait for another that validates, saves or compiles
PR_SET_PDEATHSIG = 1  # of linux/prctl.h
PORTS = range(12_000, 32_000)  # below those that the system hands out on its own


@dataclass(frozen=True, slots=True)
class Ranks:
    rank: int = 0
    world: int = 1

    @property
    def writes(self) -> bool:
        """Only one of them touches files."""
        return self.rank == 0

    def mine(self, items: Sequence[T]) -> list[T]:
        return list(items[self.rank :: self.world])

    def add_(self, sums: Tensor) -> Tensor:
        if self.world > 1:
            distributed.all_reduce(sums)
        return sums

    def from_the_first(self, work: Callable[[], T]) -> T:
        """The result of `work`, which only the first rank does. If it fails there, all ranks stop with its reason."""
        if self.world == 1:
            return work()
        box: list[Any] = [None, None]
        failure: Exception | None = None
        if self.rank == 0:
            try:
                box = [work(), None]
            except Exception as error:
                box, failure = [None, str(error)], error
        distributed.broadcast_object_list(box, src=0)
        result, reason = box
        if reason is not None:
            raise failure or UserError(reason)
        return cast(T, result)

    def parallel(self, model: nn.Module, device: torch.device) -> nn.Module:
        """The model, whose gradients become the mean over all ranks on the way back."""
        if self.world == 1:
            return model
        return DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """The writing rank goes first and the others see what it left."""
        if self.world > 1 and not self.writes:
            distributed.barrier()
        yield
        if self.world > 1 and self.writes:
            distributed.barrier()


ALONE = Ranks()


def adding_up(model: nn.Module) -> AbstractContextManager[None]:
    """Gradients of a micro-batch that is not the last of its step stay at home."""
    return model.no_sync() if isinstance(model, DistributedDataParallel) else nullcontext()


class Place(NamedTuple):
    """Where a process stands among its like, and where they meet."""

    rank: int
    world: int
    local: int
    address: str
    port: int


def place_in(environment: Mapping[str, str]) -> Place | None:
    """As torchrun or a step of srun tells it; None: alone."""
    if "RANK" in environment and "WORLD_SIZE" in environment:
        numbers = [_number(environment, key) for key in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT")]
        rank, world, local, port = numbers
        place = Place(rank, world, local, environment.get("MASTER_ADDR", "localhost"), port)
    elif "SLURM_STEP_NUM_TASKS" in environment:  # of a step: a job alone says nothing about who was started
        job, step = (_number(environment, key) for key in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
        place = Place(
            _number(environment, "SLURM_PROCID"),
            _number(environment, "SLURM_STEP_NUM_TASKS"),
            _number(environment, "SLURM_LOCALID"),
            environment.get("MASTER_ADDR") or first_host(environment.get("SLURM_STEP_NODELIST", "localhost")),
            int(environment.get("MASTER_PORT") or PORTS[(17 * job + step) % len(PORTS)]),
        )
    else:
        return None
    return place if place.world > 1 else None


def _number(environment: Mapping[str, str], key: str) -> int:
    try:
        return int(environment[key])
    except (KeyError, ValueError):
        found = environment.get(key, "nothing")
        raise UserError(
            f"{key} in the environment must be a number, got {found}; start with torchrun or srun"
        ) from None


def first_host(nodes: str) -> str:
    """`gpu[03-05,9],x` -> gpu03"""
    match = re.match(r"([^\[,]+)(?:\[([^\]\-,]+))?", nodes)
    return "".join(part or "" for part in match.groups()) if match else "localhost"


def _stop_with_the_launcher() -> None:
    """If torchrun dies, its ranks are asked to stop (Linux); left alone they would hold their GPUs."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))


@contextmanager
def joined(device: str) -> Iterator[tuple[Ranks, torch.device]]:
    """This process among all that train together, and its device."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        _stop_with_the_launcher()
    place = place_in(os.environ)
    if place is None:
        yield Ranks(), device_of(device)
        return
    own = device_of(device)
    if own.type == "cuda":
        own = torch.device("cuda", place.local % torch.cuda.device_count())  # where Slurm shows one GPU, it is number 0
        torch.cuda.set_device(own)
    distributed.init_process_group(
        "nccl" if own.type == "cuda" else "gloo",
        init_method=f"tcp://{place.address}:{place.port}", rank=place.rank, world_size=place.world, timeout=PATIENCE,
    )  # fmt: skip
    try:
        yield Ranks(place.rank, place.world), own
    finally:
        distributed.destroy_process_group()
