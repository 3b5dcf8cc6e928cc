"""What only a cluster knows: where the file is found, what it may say, and what becomes of it in a rule."""

import os
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.files import UserError, read_yaml, write_text, write_yaml
from axenat.records import ConfigError
from axenat.resources import RESUMED, STAGES, Ask, resources_of
from axenat.site import FILE, NO_MODULES, SIGNS, VARIABLE, WARNING_SECONDS, Site, in_snakemake, read_site

EXAMPLE = Path(__file__).parents[1] / "config" / "site.example.yaml"
GPUS = Ask(gpus=16, nodes=2, cpus=4)


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch) -> None:
    """In a folder without a site, and none in the environment."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv(VARIABLE, raising=False)


def grown(ask: Ask, site: Site, attempt: int) -> tuple[int, int]:
    asked = in_snakemake("score", ask, site)
    return asked["mem_mb"](None, attempt=attempt), asked["runtime"](None, attempt=attempt)


def test_a_cluster_that_decides_for_itself_needs_no_file(tmp_path) -> None:
    assert read_site() == read_site(tmp_path) == Site()
    assert in_snakemake("score", Ask(), Site()).keys() == {"mem_mb", "runtime"}


def test_the_environment_comes_before_the_folder_and_the_folder_before_the_repository(tmp_path, monkeypatch) -> None:
    places = tmp_path / FILE, Path(FILE), tmp_path / "shared.yaml"
    for number, path in enumerate(places):
        write_yaml(path, {"account": f"a{number}"})
        if path.name == "shared.yaml":
            monkeypatch.setenv(VARIABLE, str(path))
        assert read_site(tmp_path).account == f"a{number}"


def test_a_file_that_the_environment_names_must_be_there(monkeypatch) -> None:
    write_yaml(FILE, {"account": "lab"})
    monkeypatch.setenv(VARIABLE, "missing.yaml")
    with pytest.raises(UserError, match=r"AXENAT_SITE=missing\.yaml: no such file; .* see docs/cluster\.md"):
        read_site()


def test_the_example_is_read_without_complaint_and_has_every_key_and_no_other(monkeypatch) -> None:
    monkeypatch.setenv(VARIABLE, str(EXAMPLE))
    values, site = read_yaml(EXAMPLE), read_site()
    assert list(values) == [item.name for item in fields(Site)]
    assert {name: getattr(site, name) for name in values} == {**values, "modules": tuple(values["modules"])}


@pytest.mark.parametrize("text", ["", "# account: lab\n", "resources:\n", "account: null\nmodules: []\n"])
def test_every_key_may_be_left_out(text) -> None:
    write_text(FILE, text)
    assert read_site() == Site()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["account"], f"{FILE}: expected keys and values"),
        ({"acount": "lab"}, f"{FILE}.acount is not a known key; allowed are account, partition, gpu_partition"),
        ({"account": 7}, f"{FILE}.account must be text, got 7"),
        ({"modules": "cuda"}, f"{FILE}.modules must be a list, got 'cuda'"),
        ({"gpus": "gpu"}, f"{FILE}: gpus must be one of gpus, gres, got 'gpu'"),
        ({"most_runtime": 4}, f"{FILE}: most_runtime must be >= 5, got 4"),
        ({"most_mem_mb": 0}, f"{FILE}: most_mem_mb must be >= 500, got 0"),
        ({"account": "my lab"}, f"{FILE}: account must be of letters, digits and . _ / + -, got 'my lab'"),
        ({"modules": ["cuda", "a;b"]}, f"{FILE}: modules must be of letters, digits and . _ / + -, got 'a;b'"),
        ({"partition": "a,,b"}, f"{FILE}: partition must have a name on both sides of each comma, got 'a,,b'"),
        ({"constraint": "[a|b"}, f"{FILE}: constraint must close every bracket that it opens, got '[a|b'"),
        ({"gpu_model": "a-100"}, f"{FILE}: gpu_model must be of letters, digits and . _, got 'a-100'"),
        ({"resources": [1]}, f"{FILE}.resources must be a mapping of keys, got [1]"),
    ],
)
def test_a_refusal_names_the_file_the_key_and_what_is_allowed(values, words) -> None:
    write_yaml(FILE, values)
    with pytest.raises(UserError) as refused:
        read_site()
    assert str(refused.value).startswith(words)


def test_no_job_asks_for_more_than_the_site_allows() -> None:
    study = {"size": "large"}
    asked = Site(most_runtime=200, most_mem_mb=6000).over(study).by_rule()
    assert max(ask.runtime for ask in asked.values()) == 200 and max(ask.mem_mb for ask in asked.values()) == 6000
    assert Site().over(study) == resources_of(study)


def test_a_folder_in_place_of_the_file_is_refused() -> None:
    Path(FILE).mkdir(parents=True)
    with pytest.raises(UserError, match=f"^{FILE}: is a folder, not a file"):
        read_site()


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("", "there is no module command, and no $MODULESHOME"),
        ("module() { return 1; };", "module load cuda/12.8 gcc failed"),
        ('module() { echo "$@"; };', ""),
    ],
    ids=["none", "failed", "loaded"],
)
def test_a_node_without_its_modules_leaves_it_to_the_command_to_say_so(before, why) -> None:
    """Whose words are in its log, which Snakemake shows."""
    prefix = Site(modules=("cuda/12.8", "gcc")).prefix
    assert not set(prefix) & set("{}"), "which Snakemake would fill in"
    words = ["bash", "-c", f'set -euo pipefail; {before} {prefix} echo "because:${{{NO_MODULES}:-}}"']
    done = subprocess.run(words, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == (["load cuda/12.8 gcc"] if not why else []) + [f"because:{why}"]


def test_what_is_wrong_with_its_resources_is_told_with_the_name_of_the_file(monkeypatch) -> None:
    site, study = Site(resources={"trian": {"gpus": 1}}), {"size": "base"}
    with pytest.raises(ConfigError, match=f"^{FILE}: resources.trian is not a known key; allowed are size"):
        site.over(study)
    monkeypatch.setenv("AXENAT_SITE", "lab.yaml")
    with pytest.raises(ConfigError, match=r"^lab\.yaml: resources.trian is not"):
        site.over(study)
    assert Site(resources={"train": {"nodes": 2}}).over({"train": {"gpus": 16}}).ask("train").nodes == 2


@given(st.sampled_from(sorted(SIGNS)), st.sampled_from(" ;$`<>\"'\\\n\t#!{}~?"), st.text("ab1", max_size=3))
def test_a_name_with_characters_of_the_shell_is_refused(key, sign, rest) -> None:
    for word in (sign + rest, rest + sign, f"{rest}{sign}{rest}"):
        with pytest.raises(ConfigError, match=f"^{key} must be of letters"):
            Site(**{key: (word,) if key == "modules" else word})


@pytest.mark.parametrize("key", SIGNS)
def test_an_empty_name_is_none(key) -> None:
    with pytest.raises(ConfigError, match=f"^{key} must be of letters"):
        Site(**{key: ("",) if key == "modules" else ""})


@pytest.mark.parametrize("constraint", ["a100", "a100|h100", "intel&gpu", "[rack1*2&rack2*4]", "(knl|hsw)&fast"])
def test_constraints_have_the_operators_of_sbatch(constraint) -> None:
    assert in_snakemake("score", Ask(), Site(constraint=constraint))["constraint"] == constraint


@given(st.integers(500, 10**6), st.none() | st.integers(500, 10**6), st.integers(1, 6))
def test_memory_and_time_grow_with_the_attempt_up_to_what_the_site_allows(first, most, attempt) -> None:
    """And never sink below the first ask: one that the site would not allow is for people to see, not to be cut."""
    ask, site = Ask(mem_mb=first, runtime=first), Site(most_mem_mb=most, most_runtime=most or 1_440)
    for value, limit in zip(grown(ask, site, attempt), (most, most or 1_440), strict=True):
        assert value >= first
        if limit is None or attempt * first <= limit:
            assert value == attempt * first
        else:
            assert value == max(first, limit)
    for value, later in zip(grown(ask, site, attempt), grown(ask, site, attempt + 1), strict=True):
        assert value <= later
    assert grown(ask, site, 1) == (first, first)


def test_no_attempt_asks_for_more_than_its_partition_has() -> None:
    """It would be refused, or wait for ever. Slurm is asked only when it matters."""
    asked_for = []

    def room(partition: str | None) -> tuple[int | None, int | None]:
        asked_for.append(partition)
        return 240, 7_000

    asked = in_snakemake("score", Ask(mem_mb=4_000, runtime=200), Site(partition="cpu"), room)
    assert [asked[key](None, attempt=1) for key in ("mem_mb", "runtime")] == [4_000, 200] and not asked_for
    assert [asked[key](None, attempt=3) for key in ("mem_mb", "runtime")] == [7_000, 240]
    assert set(asked_for) == {"cpu"}
    tighter = in_snakemake("score", Ask(mem_mb=4_000), Site(most_mem_mb=5_000), room)
    assert tighter["mem_mb"](None, attempt=2) == 5_000


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_site_does_not_know_is_not_asked_for(stage) -> None:
    assert None not in in_snakemake(stage, GPUS, Site()).values()


def test_gpus_are_asked_for_all_together_or_of_each_node() -> None:
    def asked(**site: str) -> dict[str, object]:
        keys = ("gpu", "gpu_model", "gres", "tasks_per_gpu")
        return {key: value for key, value in in_snakemake("train", GPUS, Site(**site)).items() if key in keys}

    assert asked() == {"gpu": 16, "tasks_per_gpu": 1}
    assert asked(gpu_model="a100") == {"gpu": 16, "gpu_model": "a100", "tasks_per_gpu": 1}
    assert asked(gpus="gres") == {"gres": "gpu:8", "tasks_per_gpu": 0}
    assert asked(gpus="gres", gpu_model="a100") == {"gres": "gpu:a100:8", "tasks_per_gpu": 0}


@pytest.mark.parametrize("gpus", ["gpus", "gres"])
def test_a_job_without_gpus_asks_for_none(gpus) -> None:
    asked = in_snakemake("score", Ask(), Site(gpus=gpus, gpu_model="a100"))
    assert not {"gpu", "gpu_model", "gres", "tasks_per_gpu"} & asked.keys()


def test_jobs_with_gpus_may_go_elsewhere_than_others() -> None:
    site = Site(
        partition="cpu", gpu_partition="gpu", constraint="new", gpu_constraint="a100", account="lab", qos="high"
    )
    alone = replace(site, gpu_partition=None, gpu_constraint=None)
    for ask, where, expected in (
        (Ask(), site, ("cpu", "new")),
        (GPUS, site, ("gpu", "a100")),
        (GPUS, alone, ("cpu", "new")),
    ):
        asked = in_snakemake("train", ask, where)
        assert (asked["slurm_partition"], asked["constraint"]) == expected
        assert (asked["slurm_account"], asked["qos"]) == ("lab", "high")


@pytest.mark.parametrize("ask", [Ask(), Ask(gpus=1), Ask(tasks=2), GPUS])
def test_several_processes_are_left_to_the_command_to_start(ask) -> None:
    asked = in_snakemake("train", ask, Site())
    assert (asked["tasks"], asked["nodes"]) == (ask.ranks, ask.nodes)
    assert ("mpi" in asked) == (ask.ranks > 1)


@pytest.mark.parametrize("stage", STAGES)
def test_only_trainings_name_nodes_and_processes(stage) -> None:
    named = {"nodes", "tasks"} & in_snakemake(stage, Ask(), Site()).keys()
    assert named == ({"nodes", "tasks"} if stage == "train" else set())


@pytest.mark.parametrize("stage", STAGES)
def test_what_goes_on_where_it_was_stopped_is_told_before_its_time_is_up(stage) -> None:
    extra = in_snakemake(stage, Ask(), Site()).get("slurm_extra")
    assert extra == (f"--signal=TERM@{WARNING_SECONDS}" if stage in RESUMED else None)


@pytest.mark.parametrize("defined", [True, False], ids=["in the shell already", "by MODULESHOME"])
def test_modules_are_loaded_before_a_command_though_they_are_not_written_for_strict_shells(tmp_path, defined) -> None:
    init = tmp_path / "home/init/bash"
    write_text(init, 'module() { : "$UNSET"; LOADED="$*"; }\n')
    command = f'set -euo pipefail; {Site(modules=("cuda/12.8", "gcc")).prefix}echo "$LOADED $-"'
    environment = {"PATH": os.environ["PATH"], "MODULESHOME": str(tmp_path / "home")}
    if defined:
        command, environment = f"source {init}; {command}", {"PATH": os.environ["PATH"]}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    *loaded, flags = done.stdout.split()
    assert loaded == ["load", "cuda/12.8", "gcc"]
    assert {"e", "u"} <= set(flags), "and the command itself is as strict as before"


def test_a_site_without_modules_changes_no_command() -> None:
    assert Site().prefix == ""
