"""Who starts the ranks of a training: srun in a job of Slurm, torchrun beside GPUs, nobody for a rank itself."""

import json
import os
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.files import UserError, read_json
from axenat.train.launch import LAUNCHED, become_launcher, launcher
from tests.stand_in import stand_in

JOB = {"SLURM_JOB_ID": "7"}
ranks, gpus = st.integers(2, 32), st.integers(0, 16)


@pytest.mark.parametrize("mark", [{LAUNCHED: "1"}, {"RANK": "0"}], ids=["ours", "of torchrun"])
@pytest.mark.parametrize("place", [{}, JOB], ids=["here", "in a job"])
@given(ranks, gpus)
def test_a_rank_launches_nothing(place, mark, ranks, gpus) -> None:
    assert not launcher({**place, **mark}, ranks, 1, 4, gpus)


@pytest.mark.parametrize("place", [{}, JOB], ids=["here", "in a job"])
def test_one_process_needs_no_launcher(place) -> None:
    assert not launcher(place, 1, 1, 4, 8)


@given(ranks, st.integers(1, 4), st.integers(1, 8), gpus)
def test_in_a_job_srun_starts_every_rank_whatever_gpus_the_first_node_shows(ranks, nodes, threads, gpus) -> None:
    command = launcher(JOB, ranks, nodes, threads, gpus)
    assert command[0] == "srun" and command[-1] == sys.executable
    assert {f"--nodes={nodes}", f"--ntasks={ranks}", f"--cpus-per-task={threads}"} <= set(command)
    assert "--kill-on-bad-exit=1" in command


def test_in_a_job_a_process_without_a_number_of_threads_has_one_core() -> None:
    assert "--cpus-per-task=1" in launcher(JOB, 2, 1, None, 0)


@given(ranks, st.integers(1, 2), gpus)
def test_elsewhere_torchrun_starts_no_more_processes_than_there_are_gpus(ranks, nodes, gpus) -> None:
    command = launcher({}, ranks, nodes, 4, gpus)
    if gpus < 2:
        assert not command
    else:
        start = (sys.executable, "-m", "torch.distributed.run", "--standalone")
        assert command == (*start, f"--nproc-per-node={min(ranks, gpus)}")


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        (0, "0 GPUs are here, not 4: there will be 1 processes"),
        (2, "2 GPUs are here, not 4: there will be 2 processes"),
    ],
)
def test_fewer_processes_than_asked_for_are_told(caplog, gpus, words) -> None:
    launcher({}, 4, 1, 1, gpus)
    assert caplog.messages == [words]
    caplog.clear()
    launcher(JOB, 4, 1, 1, gpus)
    launcher({}, 4, 1, 1, 4)
    assert not caplog.messages


@pytest.mark.parametrize(("numbers", "words"), [((0, 1), "--ranks 0"), ((2, -1), "--nodes -1")])
def test_less_than_one_is_refused(numbers, words) -> None:
    with pytest.raises(UserError, match=f"^{words}: must be at least 1$"):
        become_launcher(*numbers, threads=None)


def test_a_launcher_that_is_missing_is_one_sentence(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "environ", {**JOB, "PATH": str(tmp_path)})
    with pytest.raises(UserError, match=r"^srun: no such command, which starts the ranks of a training here$"):
        become_launcher(2, 1, None)


def test_the_command_becomes_srun_which_gets_the_same_words_and_where_ranks_meet(tmp_path) -> None:
    names = (LAUNCHED, "MASTER_ADDR", "SLURM_JOB_ID")
    told = f"import json, os\nfound = {{name: os.environ.get(name) for name in {names!r}}}"
    stand_in(tmp_path, "srun", f"{told}\njson.dump([words, found], open({str(tmp_path / 'called')!r}, 'w'))")
    flags = [word for name in ("config", "train", "valid", "subwords", "out") for word in (f"--{name}", "x")]
    words = ["train", *flags, "--threads", "3", "--ranks", "4", "--nodes", "2"]
    kept = {name: value for name, value in os.environ.items() if name not in (LAUNCHED, "RANK")}
    done = subprocess.run(
        [sys.executable, "-m", "axenat.cli", *words], cwd=tmp_path, check=False, capture_output=True, text=True,
        env={**kept, **JOB, "PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    called, found = read_json(tmp_path / "called")
    expected = launcher(JOB, 4, 2, 3, 0)[1:]
    assert called == [*expected, "-m", "axenat.cli", *words], json.dumps(called)
    assert found == {LAUNCHED: "1", "MASTER_ADDR": socket.gethostname(), "SLURM_JOB_ID": "7"}
