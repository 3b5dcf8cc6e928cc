"""Two processes that train together are one: the same history, the same weights, the same draws."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from axenat.files import read_lines
from axenat.train.loop import train
from axenat.train.ranks import ALONE, Ranks
from axenat.train.setting import Setting
from tests.train.test_loop import history, setting

# Of three micro-batches a step one rank has two; the last step of an epoch may leave a rank without any.
SECTIONS: dict[str, Any] = {
    "train": {
        "steps": 9,
        "tokens_per_step": 96,
        "tokens_per_batch": 32,
        "log_every": 2,
        "validate_every": 4,
        "keep_best": 2,
        "clip_norm": 2.0,
        "adam_eps": 1e-3,
    },
    "model": {"dropout": 0.3},
    "seed": 5,
}
NAMES = ("masked", "left_to_right")


def made(folder: Path, name: str, ranks: Ranks) -> Setting:
    return setting(folder, name, f"{name}-{ranks.world}", ranks=ranks, **SECTIONS)


def trained_together(rank: int, folder: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    for name in NAMES:
        one = made(Path(folder), name, Ranks(rank, 2))
        state = train(one, "mark")
        torch.save([parameter.detach() for parameter in one.model.parameters()], f"{folder}/{name}-{rank}.pt")
        Path(folder, f"{name}-{rank}.json").write_text(json.dumps([entry["step"] for entry in state.best]))
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ranks")
    for name in NAMES:  # writes the corpora as well
        one = made(path, name, ALONE)
        train(one, "mark")
        torch.save([parameter.detach() for parameter in one.model.parameters()], path / f"{name}.pt")
    run: Callable[..., Any] = torch.multiprocessing.spawn
    run(trained_together, args=(str(path),), nprocs=2)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_two_ranks_write_the_history_of_one_process(folder, name) -> None:
    """With dropout and masks, which each micro-batch draws by its number; every line once."""
    one = history(made(folder, name, ALONE))
    two = [json.loads(line) for line in read_lines(folder / f"{name}-2" / "history.jsonl")]
    assert max(line["epoch"] for line in one) >= 2
    for alone, together in zip(one, two, strict=True):
        assert alone.pop("kind") == together.pop("kind")
        assert together == pytest.approx(alone, rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_two_ranks_end_with_the_weights_of_one_process_and_of_each_other(folder, name) -> None:
    alone, first, second = (torch.load(folder / f"{name}{end}.pt") for end in ("", "-0", "-1"))
    assert all(torch.equal(one, two) for one, two in zip(first, second, strict=True))
    for one, two in zip(alone, first, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_rank_alone_keeps_checkpoints(folder, name) -> None:
    valid = {line["step"]: line["loss"] for line in history(made(folder, name, ALONE)) if line["kind"] == "valid"}
    kept, none = (json.loads((folder / f"{name}-{rank}.json").read_text()) for rank in (0, 1))
    assert kept == sorted(valid, key=valid.__getitem__)[:2] and none == []
