"""A profile and a site are held against the cluster, whose commands are stood in for: not every machine has one."""

from pathlib import Path

import pytest

from axenat.files import UserError, write_yaml
from axenat.preflight import cluster
from axenat.preflight.cluster import check_cluster, profile_named, refuse_problems, require_plugin
from axenat.preflight.findings import ok, problem, warning
from axenat.resources import Ask
from axenat.site import Site

ROOT = Path(__file__).parents[2]
OURS, NO_SITE = ROOT / "slurm", Site()
SMALL, LARGE = "2 4 8000 (null) 1:00:00\n", "2 64 500000 gpu:8 infinite\n"


def profile(folder: Path, **resources: str) -> Path:
    rules = {"train": {"slurm_partition": "gpu"}} if resources else {}
    defaults = {"mem_mb": 2000, **resources}
    settings = {"executor": "slurm", "default-resources": defaults, "set-resources": rules}
    write_yaml(folder / "slurm/config.yaml", settings)
    return folder / "slurm"


def found(profile: Path, site: Site = NO_SITE, **asks: Ask) -> list[tuple[str, str]]:
    return [(one.level, one.words) for one in check_cluster(profile, site, asks)]


def test_partition_and_account_that_exist_are_fine(tmp_path, slurm) -> None:
    slurm(sinfo="cpu*\ngpu\n", sacctmgr="lab\nclass\n")
    expected = [("ok", "partition cpu, gpu"), ("ok", "lab")]
    assert found(profile(tmp_path, slurm_partition="cpu", slurm_account="lab")) == expected
    assert found(OURS, Site(partition="cpu", gpu_partition="gpu", account="lab")) == expected
    assert found(OURS, Site(partition="gpu,cpu", account="lab")) == expected


def test_those_that_do_not_exist_are_told_beside_those_that_do(tmp_path, slurm) -> None:
    slurm(sinfo="cpu*\n", sacctmgr="class\n")
    of_profile = list(check_cluster(profile(tmp_path, slurm_partition="cpu", slurm_account="lab"), Site(), {}))
    of_site = list(check_cluster(OURS, Site(partition="cpu", gpu_partition="gpu", account="lab"), {}))
    for partition, account in (of_profile, of_site):
        assert (partition.level, account.level) == ("problem", "problem")
        assert partition.words == "unknown partition gpu; known are cpu"
        assert account.words.endswith("has no account lab, but class")
    assert [one.fix for one in of_site] == [
        "correct partition or gpu_partition in config/site.yaml",
        "correct account in config/site.yaml",
    ]


def test_our_own_profile_takes_the_default_partition_and_the_only_account(slurm) -> None:
    slurm(sinfo="cpu*\ngpu\n", sacctmgr="lab\n")
    assert found(OURS) == [("ok", "partition cpu, the default of the cluster"), ("ok", "lab")]


def test_a_cluster_without_a_default_needs_a_name_and_several_accounts_a_choice(slurm) -> None:
    slurm(sinfo="cpu\ngpu\n", sacctmgr="lab\nclass\n")
    assert [level for level, _ in found(OURS)] == ["problem", "warning"]
    assert [level for level, _ in found(OURS, Site(partition="gpu", account="class"))] == ["ok", "ok"]


def test_jobs_are_held_against_the_nodes_of_the_default_partition_of_the_profile_or_of_the_site(
    tmp_path, slurm
) -> None:
    slurm(sinfo="small*\nlarge\ngpu\n", sacctmgr="lab\n", nodes={"small": SMALL, "large": LARGE})
    wanted, fits = Ask(mem_mb=100_000), ("ok", "every job fits on those of large")
    assert found(OURS, train=wanted)[2:] == [
        ("problem", "train: 100000 MB a node are asked for, at most 8000 are there in partition small")
    ]
    assert found(profile(tmp_path, slurm_partition="large"), train=wanted)[2:] == [fits]
    assert found(OURS, Site(partition="large"), train=wanted)[2:] == [fits]


def test_nodes_of_a_partition_that_does_not_exist_are_not_asked_for(slurm) -> None:
    slurm(sinfo="small*\n", sacctmgr="lab\n", nodes={"small": SMALL})
    about = [one.about for one in check_cluster(OURS, Site(gpu_partition="gpu"), {"train": Ask(mem_mb=100_000)})]
    assert about == ["Slurm", "account"]


def test_no_cluster_is_a_problem_and_no_profile_a_sentence(tmp_path, slurm) -> None:
    slurm(sinfo="")
    assert found(OURS) == [("problem", "sinfo names no partition")]
    (tmp_path / "bin/sbatch").unlink()
    assert found(OURS) == [("problem", "there is no sbatch on the path")]
    with pytest.raises(UserError, match=r"nowhere: no such profile; give a folder with config\.yaml, such as slurm"):
        found(tmp_path / "nowhere")


def test_a_missing_plugin_is_a_problem_and_the_profile_itself_says_so_in_a_sentence(slurm, monkeypatch, capsys) -> None:
    slurm(sinfo="cpu*\n", sacctmgr="lab\n")
    require_plugin()
    monkeypatch.setattr(cluster, "PLUGINS", ("snakemake-executor-plugin-missing",))
    missing = "the plugin snakemake-executor-plugin-missing is not installed"
    assert found(OURS)[0] == ("problem", missing)
    with pytest.raises(SystemExit) as ended:
        require_plugin()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"axenat: Slurm: {missing}; pip install ")


def test_a_profile_is_found_where_snakemake_finds_it(tmp_path, monkeypatch) -> None:
    """Here, in the repository of a folder elsewhere, and among those of the user."""
    monkeypatch.chdir(tmp_path)
    assert profile_named("none") is None
    assert profile_named("slurm").resolve() == OURS.resolve()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    write_yaml(tmp_path / "home/snakemake/mine/config.yaml", {"executor": "slurm"})
    assert profile_named("mine") == tmp_path / "home/snakemake/mine/config.yaml"
    assert profile_named("nobodys") == Path("nobodys"), "which is then refused in a sentence"
    write_yaml(tmp_path / "slurm/config.yaml", {})
    assert profile_named("slurm") == Path("slurm")


def test_accounts_are_compared_as_slurm_does(slurm) -> None:
    slurm(sinfo="cpu*\n", sacctmgr="nlp\n", nodes={"cpu": "9 99 99000 (null) infinite\n"})
    assert [one.level for one in check_cluster(OURS, Site(account="NLP"), {"score": Ask()})] == ["ok"] * 3


def test_a_profile_without_slurm_asks_for_no_cluster(tmp_path) -> None:
    write_yaml(tmp_path / "config.yaml", {"cores": 2})
    (only,) = check_cluster(tmp_path, Site(partition="anything"), {"train": Ask(gpus=1000)})
    assert only.level == "ok"


def test_only_a_problem_keeps_jobs_from_being_sent_and_the_first_says_what_to_do() -> None:
    refuse_problems([ok("a", "fine"), warning("b", "doubtful", "look")])
    with pytest.raises(UserError) as refused:
        refuse_problems([ok("a", "fine"), problem("c", "wrong", "mend it"), problem("d", "too", "and this")])
    assert str(refused.value) == "c: wrong; mend it"


@pytest.mark.parametrize("name", ["config.yaml", "profile.yaml"])
def test_either_file_of_a_profile_is_read(tmp_path, name) -> None:
    write_yaml(tmp_path / "mine" / name, {"executor": "touch"})
    assert profile_named(str(tmp_path / "mine")) == tmp_path / "mine"
    assert [words for _, words in found(tmp_path / "mine")] == [f"{tmp_path / 'mine'} has executor touch"]


def test_the_plugin_inside_jobs_is_missed_by_name(monkeypatch) -> None:
    there = [type("Module", (), {"name": "snakemake_executor_plugin_slurm"})]
    monkeypatch.setattr(cluster.pkgutil, "iter_modules", lambda: there)
    assert cluster._missing_plugins() == ["snakemake-executor-plugin-slurm-jobstep"]
