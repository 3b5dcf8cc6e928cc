"""A Slurm profile is held against the cluster, whose commands are stood in for: not every machine has one."""

import stat
import sys
from pathlib import Path

import pytest

from axenat.files import UserError, write_text, write_yaml
from axenat.preflight.cluster import check_cluster

ROOT = Path(__file__).parents[2]


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Commands that say what a test wants, and no others on the path."""

    def make(**says: str) -> None:
        for name, text in {"sbatch": "", **says}.items():
            path = tmp_path / "bin" / name
            write_text(path, f"#!{sys.executable}\nprint({text!r})\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    return make


def profile(folder: Path, **resources: str) -> Path:
    rules = {"train": {"slurm_partition": "gpu"}} if resources else {}
    defaults = {"mem_mb": 2000, **resources}
    settings = {"executor": "slurm", "default-resources": defaults, "set-resources": rules}
    write_yaml(folder / "slurm/config.yaml", settings)
    return folder / "slurm"


def test_partition_and_account_that_exist_are_fine(tmp_path, slurm) -> None:
    slurm(sinfo="cpu*\ngpu\n", sacctmgr="lab\nclass\n")
    found = list(check_cluster(profile(tmp_path, slurm_partition="cpu", slurm_account="lab")))
    assert [(one.level, one.words) for one in found] == [("ok", "partition cpu, gpu"), ("ok", "lab")]


def test_those_that_do_not_exist_are_told_beside_those_that_do(tmp_path, slurm) -> None:
    slurm(sinfo="cpu*\n", sacctmgr="class\n")
    found = list(check_cluster(profile(tmp_path, slurm_partition="cpu", slurm_account="lab")))
    assert [one.level for one in found] == ["problem", "problem"]
    assert found[0].words == "unknown partition gpu; known are cpu"
    assert found[1].words.endswith("has no account lab, but class")


def test_our_own_profile_takes_the_default_partition_and_the_only_account(slurm) -> None:
    slurm(sinfo="cpu*\ngpu\n", sacctmgr="lab\n")
    found = list(check_cluster(ROOT / "slurm"))
    assert [(one.level, one.words) for one in found] == [
        ("ok", "partition cpu, the default of the cluster"),
        ("ok", "lab"),
    ]


def test_a_cluster_without_a_default_needs_a_name_and_several_accounts_a_choice(slurm) -> None:
    slurm(sinfo="cpu\ngpu\n", sacctmgr="lab\nclass\n")
    assert [one.level for one in check_cluster(ROOT / "slurm")] == ["problem", "warning"]


def test_no_cluster_is_a_problem_and_no_profile_a_sentence(tmp_path, slurm) -> None:
    slurm(sinfo="")
    assert [one.words for one in check_cluster(ROOT / "slurm")] == ["sinfo names no partition"]
    (tmp_path / "bin/sbatch").unlink()
    assert [one.words for one in check_cluster(ROOT / "slurm")] == ["there is no sbatch on the path"]
    with pytest.raises(UserError, match=r"nowhere: no such profile; give a folder with config\.yaml, such as slurm"):
        list(check_cluster(tmp_path / "nowhere"))


def test_a_profile_without_slurm_asks_for_no_cluster(tmp_path) -> None:
    write_yaml(tmp_path / "config.yaml", {"cores": 2})
    (found,) = check_cluster(tmp_path)
    assert found.level == "ok"
