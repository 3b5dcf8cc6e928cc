"""The ids of train may be gigabytes: before the first step, one rank reads them once, and the others not at all."""

import hashlib
import json
import os
import socket
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from axenat import cli
from axenat.files import read_json, read_yaml, write_json
from axenat.train import loop
from tests.support.counted_reads import counted_reads
from tests.train.demo_run import DemoData, DemoRun

WORLDS = (1, 2)
TRAIN = {"steps": 1, "validate_every": 1, "tokens_per_step": 1024, "tokens_per_batch": 512}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return int(found.getsockname()[1])


def told(rank: int, world: int, port: int) -> dict[str, str]:
    """What torchrun tells a process."""
    place = {"RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank, "MASTER_ADDR": "localhost", "MASTER_PORT": port}
    return {key: str(value) for key, value in place.items()} if world > 1 else {}


def train_and_count(rank: int, world: int, ports: list[int], folder: str, commands: list[list[str]]) -> None:
    """The same command twice: with whole ids, and with damaged ones. Counts end with the first step."""
    whole, damaged = commands
    update, found = loop.update, []
    with counted_reads(whole[whole.index("--train") + 1]) as reads:

        def counted(*arguments: Any, **named: Any) -> bool:
            found.append(asdict(reads))
            return update(*arguments, **named)

        with mock.patch.object(loop, "update", counted), mock.patch.dict(os.environ, told(rank, world, ports[0])):
            code = cli.main(whole)
    with (
        (Path(folder) / f"said-{rank}").open("w") as said,
        mock.patch("sys.stderr", said),
        mock.patch.dict(os.environ, told(rank, world, ports[1])),
    ):
        refused = cli.main(damaged)
    write_json(Path(folder) / f"{rank}.json", {"code": code, "reads": found, "refused": refused})


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> DemoData:
    return DemoData(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def damaged(tmp_path_factory, data) -> DemoData:
    """One bit is another one, in the last id: the header and all lengths are right."""
    copy = DemoData(tmp_path_factory.mktemp("damaged"))
    content = bytearray(data.ids("train").read_bytes())
    content[-1] ^= 1
    copy.ids("train").write_bytes(content)
    return copy


@pytest.fixture(scope="module", params=WORLDS, ids=["one rank", "two ranks"])
def ranks(request, tmp_path_factory, data, damaged) -> tuple[DemoRun, Path, int]:
    """A training of so many ranks, and the folder with what each of them counted."""
    folder, world = tmp_path_factory.mktemp("ranks"), request.param
    runs = [DemoRun(one, folder / name, **TRAIN) for name, one in (("whole", data), ("damaged", damaged))]
    ports, spawn = [free_port() for _ in runs], _spawn()
    spawn(train_and_count, (world, ports, str(folder), [run.command() for run in runs]), nprocs=world)
    return runs[0], folder, world


def _spawn() -> Callable[..., Any]:
    run: Callable[..., Any] = torch.multiprocessing.spawn
    return run


def test_the_first_rank_reads_every_byte_once_and_no_other_reads_any(ranks, data) -> None:
    """All of them map the file into memory, which opens it and reads nothing."""
    _, folder, world = ranks
    size = data.ids("train").stat().st_size
    for rank in range(world):
        record = read_json(folder / f"{rank}.json")
        assert record["code"] == 0
        expected = {"opened": 2, "num_bytes": size} if rank == 0 else {"opened": 1, "num_bytes": 0}
        assert record["reads"] == [expected], rank


def test_damaged_ids_are_refused_by_all_ranks_in_the_same_sentence(ranks, damaged) -> None:
    _, folder, world = ranks
    sentence = f"axenat train: {damaged.ids('train')}: damaged since it was written (chunk 1 of 1, of 16 MiB each)"
    for rank in range(world):
        assert read_json(folder / f"{rank}.json")["refused"] == 2
        assert sentence in (folder / f"said-{rank}").read_text()
    assert not (folder / "damaged" / "checkpoints").exists()


def test_the_fingerprint_is_that_of_trainings_that_were_begun_before(ranks, data) -> None:
    """Its bytes are part of every state and of best.json: another value would train all runs again."""
    run = ranks[0]
    sums = [hashlib.sha256(data.ids(split).read_bytes()).hexdigest() for split in ("train", "valid")]
    text = "2" + json.dumps(read_yaml(run.folder / "config.yaml"), sort_keys=True) + "".join(sums)
    expected = hashlib.sha256(text.encode()).hexdigest()
    assert read_json(run.folder / "best.json")["fingerprint"] == expected
    made = read_json(run.folder / "provenance.json")
    assert (made["fingerprint"], made["train_ids_sha256"]) == (expected, sums[0])
