"""Every key of `resources` and of a site reaches what Snakemake asks a cluster for, in the jobs that it is about."""

from typing import Any

import pytest

from axenat.files import write_yaml
from axenat.resources import OF_TEACHERS, STAGES, Ask, resources_of
from axenat.site import Site, in_snakemake, read_site
from tests.support.wiring import Look, keys_of, looks_at_keys, unnoticed

# Pairwise different, so that no key can be read in place of another; nodes and processes are those of a training.
ASK = {"cpus": 3, "mem_mb": 5_000, "runtime": 70, "gpus": 8, "nodes": 2, "tasks": 8}
GIVEN = {"cpus": 5, "mem_mb": 7_000, "runtime": 90}
SITE: dict[str, Any] = {
    "account": "us",
    "partition": "slow",
    "gpu_partition": "fast",
    "qos": "usual",
    "constraint": "amd",
    "gpu_constraint": "a100",
    "gpus": "gpus",
    "gpu_model": "big",
    "modules": ["python", "cuda"],
    "most_runtime": 300,
    "most_mem_mb": 9_000,
    "resources": {"size": "demo"},
}
HERE = {key: value for key, value in SITE.items() if key != "resources"}


def asked(ask: Ask, site: Site | None = None, stage: str = "train") -> dict[str, Any]:
    """What a rule hands to Snakemake, for the first attempt and for one that comes late."""
    found = in_snakemake(stage, ask, site or Site())
    growing = {name: found[name] for name in ("mem_mb", "runtime")}
    return {**found, **{name: [grown(None, attempt) for attempt in (1, 9)] for name, grown in growing.items()}}


def of_ask(ask: Ask) -> Any:
    return asked(ask), ask.cpus


def on_site(site: Site) -> Any:
    """A job with GPUs and one without, and what is said before each command."""
    with_gpus = asked(Ask(**{**ASK, "tasks": 0}), site)
    return with_gpus, asked(Ask(**GIVEN), site, "clean"), site.prefix


ALL = frozenset(keys_of(Site))
LOOKS = [
    Look(name="ask", kind=Ask, see=of_ask, sees=frozenset(keys_of(Ask)) - {"gpus", "tasks"}, base=ASK,
         tries={"nodes": [4]}, apart=frozenset({"gpus", "tasks"})),
    Look(name="gpus", kind=Ask, see=of_ask, sees=frozenset({"gpus", "tasks"}), base=GIVEN,
         tries={"gpus": [2], "tasks": [3]}, apart=frozenset(keys_of(Ask)) - {"gpus", "tasks"}),
    Look(name="site", kind=Site, see=on_site, sees=ALL - {"resources"}, base=HERE, apart=frozenset({"resources"}),
         tries={"gpus": ["gres"], "modules": [["python"]]}),
]  # fmt: skip


@looks_at_keys(*LOOKS)
def test_a_key_changes_exactly_what_it_is_about(look, key) -> None:
    look.check(key)


def test_every_key_is_noticed() -> None:
    assert unnoticed(Ask, *LOOKS) == unnoticed(Site, *LOOKS, apart=("resources",)) == []


@pytest.mark.parametrize("stage", STAGES)
def test_each_value_goes_under_its_own_name(stage) -> None:
    found = asked(Ask(**GIVEN), Site(**{**HERE, "modules": ("python",)}), stage)
    assert found["mem_mb"] == [7_000, 9_000] and found["runtime"] == [90, 300]
    own = {"slurm_account": "us", "slurm_partition": "slow", "constraint": "amd", "qos": "usual"}
    assert {name: found[name] for name in own} == own
    assert ("nodes" in found) == ("tasks" in found) == (stage == "train")


def test_a_training_on_gpus_asks_for_what_it_said_under_its_own_name() -> None:
    found = asked(Ask(**ASK), Site(**{**HERE, "modules": ("python",)}))
    names = {"slurm_partition": "fast", "constraint": "a100", "gpu": 8, "gpu_model": "big", "nodes": 2, "tasks": 8}
    assert {name: found[name] for name in names} == names
    each = asked(Ask(**ASK), Site(gpus="gres", gpu_model="big"))
    assert each["gres"] == "gpu:big:4" and "gpu" not in each


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("key", ["cpus", "mem_mb", "runtime"])
def test_what_is_said_of_a_stage_is_asked_for_by_that_stage_alone(stage, key) -> None:
    value = {"cpus": 37, "mem_mb": 54_321, "runtime": 4_321}[key]
    before, after = resources_of({"size": "base"}), resources_of({"size": "base", stage: {key: value}})
    for teacher in (False, True):
        changed = [one for one in STAGES if before.ask(one, teacher=teacher) != after.ask(one, teacher=teacher)]
        assert changed == [stage] and getattr(after.ask(stage, teacher=teacher), key) == value


def test_a_size_is_of_all_stages_and_a_teachers_size_of_a_teachers_alone() -> None:
    base, large = resources_of({"size": "base"}), resources_of({"size": "large"})
    taught = resources_of({"size": "base", "teacher": "large"})
    for stage in STAGES:
        assert taught.ask(stage) == base.ask(stage) != large.ask(stage)
        as_large = taught.ask(stage, teacher=True) == large.ask(stage, teacher=True)
        assert as_large == (stage in OF_TEACHERS)


@pytest.mark.parametrize("key", ["most_runtime", "most_mem_mb"])
def test_a_limit_of_the_site_holds_for_teachers_and_students_from_the_first_attempt(key) -> None:
    name, limit = key.removeprefix("most_"), 600
    within = Site(**{key: limit}).over({"size": "large"})
    free = Site().over({"size": "large"})
    for stage in STAGES:
        for teacher in (False, True):
            first = getattr(free.ask(stage, teacher=teacher), name)
            assert getattr(within.ask(stage, teacher=teacher), name) == min(first, limit)


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_site_wants_otherwise_is_laid_over_what_a_study_says(stage) -> None:
    site = Site(resources={stage: {"cpus": 37}})
    asked = site.over({"size": "base", stage: {"cpus": 2, "runtime": 77}}).ask(stage)
    assert (asked.cpus, asked.runtime) == (37, 77)


def test_every_key_of_a_site_is_read_from_its_file(tmp_path, monkeypatch) -> None:
    write_yaml(tmp_path / "site.yaml", SITE)
    monkeypatch.setenv("AXENAT_SITE", str(tmp_path / "site.yaml"))
    site = read_site()
    assert {key: list(value) if isinstance(value := getattr(site, key), tuple) else value for key in SITE} == SITE
    assert set(SITE) == ALL
