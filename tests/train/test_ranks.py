"""Several processes train as one: same updates, same validation, one that writes."""

import json
import os
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from axenat.config import TrainConfig
from axenat.files import UserError, read_lines
from axenat.systems.registry import SYSTEMS
from axenat.train.checkpoint import TrainState
from axenat.train.ranks import Place, Ranks, first_host, place_in
from axenat.train.steps import micro_batches, steps_from
from tests.support import warm
from tests.train.demo_run import DemoData, DemoRun, wait_for
from tests.train.test_loop import setting

RUNS = {"masked": "ce-raw", "axe": "axe-distilled", "left_to_right": "teacher"}
TWO = ["--standalone", "--nproc-per-node", "2"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", *TWO, "-m", "axenat.cli"]


@pytest.fixture(scope="module")
def torchrun() -> list[str]:
    """As above, without the imports of three processes."""
    return [str(warm.commands() / "torchrun"), *TWO, "--no-python", warm.axenat()]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> DemoData:
    return DemoData(tmp_path_factory.mktemp("data"))


def values(run: DemoRun, kind: str, key: str) -> list[float]:
    return [line[key] for line in map(json.loads, read_lines(run.folder / "history.jsonl")) if line["kind"] == kind]


@pytest.mark.slow
@pytest.mark.parametrize("objective", tuple(SYSTEMS))
def test_two_ranks_train_like_one_process_that_adds_up(data, tmp_path, torchrun, objective) -> None:
    """Of three micro-batches a step, one rank has two; at the end of an epoch the other may have none at all."""
    train = {"steps": 50, "tokens_per_step": 1152, "tokens_per_batch": 384, "validate_every": 25, "log_every": 10}
    one, two = (DemoRun(data, tmp_path / name, RUNS[objective], **train) for name in ("one", "two"))
    for run, options in ((one, {}), (two, {"launcher": torchrun})):
        code, said = run.train(**options)
        assert code == 0, said
    for kind, key in (("train", "loss"), ("valid", "loss"), ("train", "grad_norm")):
        assert values(two, kind, key) == pytest.approx(values(one, kind, key), rel=1e-4)
    assert values(one, "valid", "loss")[-1] < 0.9 * values(one, "train", "loss")[0], "and both have learnt something"


@pytest.mark.slow
def test_two_ranks_are_preempted_together_and_go_on_together(data, tmp_path, torchrun) -> None:
    train = {"steps": 40, "tokens_per_step": 1024, "tokens_per_batch": 512, "validate_every": 20, "log_every": 2}
    whole, stopped = (DemoRun(data, tmp_path / name, **train) for name in ("whole", "stopped"))
    assert whole.train(launcher=torchrun)[0] == 0
    process = stopped.start(launcher=TORCHRUN)
    wait_for(lambda: len(stopped.speed()) >= 3, process)
    os.kill(children_of(process.pid)[-1], signal.SIGTERM)  # one of them is asked, and all stop after the same step
    said = process.communicate(timeout=60)[1]
    assert process.returncode != 0 and said.count("asked to stop: saved after step") == 2
    process = stopped.start(launcher=TORCHRUN)
    seen = len(stopped.speed())
    wait_for(lambda: len(stopped.speed()) > seen, process)
    ranks = children_of(process.pid)
    process.kill()  # the launcher: its ranks notice, save and end
    end = time.monotonic() + 30
    while any(Path(f"/proc/{rank}").exists() for rank in ranks) and time.monotonic() < end:
        time.sleep(0.1)
    process.communicate()
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks), "no rank is left behind"
    code, said = stopped.train(launcher=torchrun)
    assert code == 0 and "resuming after step" in said
    assert stopped.outcome() == whole.outcome()


def children_of(parent: int) -> list[int]:
    """As the kernel tells it, for the only thread of torchrun that starts processes."""
    return [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_ranks_share_the_micro_batches_of_every_step(tmp_path, world) -> None:
    """Whatever their number, together they see the same sentences in the same steps."""
    single = epoch(tmp_path, Ranks())
    shared = [epoch(tmp_path, Ranks(rank, world)) for rank in range(world)]
    for steps in zip(single, *shared, strict=True):
        whole, parts = steps[0], steps[1:]
        numbers = [number for part in parts for number in part.numbers]
        assert sorted(numbers) == whole.numbers
        for part in parts:
            assert part.ends_epoch == whole.ends_epoch
            assert part.batches, "even one without a share goes through the motions"
            for number, batch in zip(part.numbers, part.batches, strict=False):
                assert batch.index.tolist() == whole.batches[number].index.tolist()


def epoch(tmp_path, ranks: Ranks) -> list:
    one = setting(tmp_path, ranks=ranks, train={"tokens_per_batch": 16, "tokens_per_step": 80})
    steps = []
    for step in steps_from(one, TrainState()):
        steps.append(step)
        if step.ends_epoch:
            return steps
    raise AssertionError


def test_more_ranks_than_micro_batches_get_smaller_ones(tmp_path) -> None:
    """A step keeps its tokens, and nobody is idle."""
    one = setting(tmp_path, ranks=Ranks(0, 4), train={"tokens_per_batch": 64, "tokens_per_step": 64})
    sizes = [len(step.indices) for step, following in pairwise(steps_from_one_epoch(one)) if following]
    assert set(sizes) == {4}


def steps_from_one_epoch(one) -> list:
    steps = []
    for step in steps_from(one, TrainState()):
        steps.append(step)
        if step.ends_epoch:
            break
    return steps


TORCH = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "a", "MASTER_PORT": "29500"}
SLURM = {
    "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1", "SLURM_STEP_NODELIST": "gpu[03-05]",
    "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4",
}  # fmt: skip


def test_torchrun_and_srun_tell_a_process_its_place() -> None:
    assert place_in(TORCH) == Place(3, 4, 1, "a", 29500)
    place = place_in(SLURM)
    assert place is not None and place[:4] == (3, 4, 1, "gpu03") and 12_000 <= place.port < 32_000
    assert place_in({**SLURM, "SLURM_JOB_ID": "8"}).port != place.port, "two jobs on a node do not meet"
    assert place_in({**SLURM, "MASTER_ADDR": "b", "MASTER_PORT": "5"})[3:] == ("b", 5)
    assert place_in({**SLURM, **TORCH}) == place_in(TORCH), "torchrun inside of a job"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"},
        {**SLURM, "SLURM_STEP_NUM_TASKS": "1"},
        {**TORCH, "WORLD_SIZE": "1"},
    ],
    ids=["nothing", "a job that is no step", "one task", "one process"],
)
def test_otherwise_a_process_is_alone(environment) -> None:
    assert place_in(environment) is None


def test_a_broken_environment_is_told() -> None:
    with pytest.raises(
        UserError, match="LOCAL_RANK in the environment must be a number, got nothing; start with torchrun"
    ):
        place_in({"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "1"})


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("n1", "n1"), ("n1,n2", "n1"), ("n[1-2]", "n1"), ("gpu[03,07-9],x", "gpu03"), ("a-b[2]", "a-b2")],
)
def test_the_first_host_of_a_list(nodes, first) -> None:
    assert first_host(nodes) == first


@pytest.mark.parametrize(
    ("step", "batch", "world", "expected"),
    [(131_072, 8_192, 1, (16, 8_192)), (131_072, 8_192, 16, (16, 8_192)), (131_072, 8_192, 32, (32, 4_096)),
     (1000, 600, 1, (2, 500)), (1000, 600, 2, (2, 500)), (512, 512, 1, (1, 512)), (3, 3, 5, (3, 1))],
)  # fmt: skip
def test_a_step_keeps_its_tokens_whatever_the_number_of_devices(step, batch, world, expected) -> None:
    assert micro_batches(TrainConfig(tokens_per_step=step, tokens_per_batch=batch), world) == expected


def test_with_other_batches_the_epoch_starts_again(tmp_path, caplog) -> None:
    one = setting(tmp_path, train={"tokens_per_batch": 64, "tokens_per_step": 64})
    state = TrainState(position=3, budget=32)
    first = next(steps_from(one, state))
    assert first.indices[0].tolist() == next(steps_from(one, TrainState())).indices[0].tolist()
    assert "another number of devices needs other batches" in caplog.text and state.budget == 64
