"""A job that fits on no node is told before it is sent, as is why; sinfo is stood in for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.preflight import nodes
from axenat.preflight.nodes import check_features, check_nodes, gpus_in, limits_of, minutes_of, nodes_of, slurm_lines
from axenat.resources import Ask
from axenat.site import Site

# Two nodes of eight GPUs, and what takes up all of both for all of their time.
NODES = "2 32 64000 gpu:a100:8(S:0-1) 1-00:00:00\n"
WHOLE = Ask(cpus=4, mem_mb=64_000, runtime=1_440, gpus=16, nodes=2)
NO_SITE = Site()


def found(asks: dict[str, Ask], site: Site = NO_SITE, default: str | None = "main") -> list[tuple[str, str]]:
    return [(one.level, one.words) for one in check_nodes(site, asks, default)]


@pytest.mark.parametrize(
    ("site", "unknown"),
    [
        (Site(constraint="a100|h100"), None),
        (Site(constraint="[rack1*2&a100*4]"), "rack1"),
        (Site(gpu_constraint="v100"), "v100"),
    ],
)
def test_a_constraint_that_no_node_meets_is_told(slurm, site, unknown) -> None:
    slurm(nodes={"main": "a100,big\nh100,big\n"})
    told = [one.words for one in check_features(site, {"train": WHOLE}, "main")]
    assert told == ([f"no node of partition main has {unknown}; features there are a100, big, h100"] if unknown else [])
    if site.gpu_constraint:
        assert not list(check_features(site, {"score": Ask()}, "main")), "no job asks for GPUs"
    slurm(nodes={})
    assert not list(check_features(site, {"train": WHOLE}, "main")), "nothing is claimed where Slurm does not tell"


def test_a_constraint_of_all_jobs_holds_where_those_with_gpus_go(slurm) -> None:
    slurm(nodes={"cpu": "haswell\n", "gpu": "a100,2080\n"})
    site = Site(partition="cpu", gpu_partition="gpu", constraint="haswell")
    (only,) = check_features(site, {"train": WHOLE}, None)
    assert only.words == "no node of partition gpu has haswell; features there are 2080, a100"
    assert not list(check_features(replace(site, gpu_constraint="2080*2"), {"train": WHOLE}, None))


@given(st.integers(0, 30), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_time_limit_is_read_as_slurm_writes_it(days, hours, minutes, seconds) -> None:
    """Leading parts of nothing are left out, but for minutes."""
    text = f"{minutes}:{seconds:02}"
    if days or hours:
        text = f"{hours}:{minutes:02}:{seconds:02}"
    if days:
        text = f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    assert minutes_of(text) == 24 * 60 * days + 60 * hours + minutes


@pytest.mark.parametrize("text", ["infinite", "n/a", "UNLIMITED"])
def test_no_limit_is_none(text) -> None:
    assert minutes_of(text) is None


@pytest.mark.parametrize(
    ("gres", "number"),
    [
        ("(null)", 0),
        ("gpu:2", 2),
        ("gpu:8(S:0-1)", 8),
        ("gpu:a100:4(S:0-1),ssd:1", 4),
        ("gpu:nvidia_a100-sxm4-80gb:4(S:0-1)", 4),
        ("gpu:a100:2(S:0),gpu:v100:6(S:1)", 8),
        ("gpu:a100_1g.5gb:7,gpu:a100:1", 8),
        ("craynetwork:4,gpu:10", 10),
        ("fpga:2,lustre:1", 0),
    ],
)
def test_gpus_of_a_node_are_counted_whatever_their_model(gres, number) -> None:
    assert gpus_in(gres) == number


def test_of_nodes_that_differ_one_kind_must_have_all_that_is_asked_for(slurm) -> None:
    """Ten with many cores and no GPU, one with GPUs and few cores."""
    slurm(nodes={"main": "10 128 64000 (null) infinite\n1 16 500000 gpu:a100:8 infinite\n"})
    asks = {"score": Ask(cpus=128), "train": Ask(gpus=8, cpus=2), "download": Ask(mem_mb=500_000)}
    assert found(asks) == [("ok", "every job fits on those of main")]
    for ask, words in (
        (Ask(gpus=16, nodes=2, cpus=2), "2 nodes are asked for, at most 1 are there that have all of 16 cores"),
        (Ask(gpus=8, cpus=16), "at most 0 are there that have all of 128 cores, 2000 MB and 8 GPUs in partition main"),
        (Ask(cpus=17, mem_mb=64_001), "at most 0 are there that have all of 17 cores, 64001 MB in partition main"),
        (Ask(cpus=129), "129 cores a node are asked for, at most 128 are there in partition main"),
    ):  # fmt: skip
        ((level, said),) = found({"train": ask})
        assert level == "problem" and words in said


def test_gpus_of_another_model_do_not_count(slurm) -> None:
    slurm(nodes={"main": "1 16 64000 gpu:a100:8(S:0-1) infinite\n"})
    assert found({"train": Ask(gpus=8)}, Site(gpu_model="a100")) == [("ok", "every job fits on those of main")]
    words = "8 GPUs (h100) a node are asked for, at most 0 are there in partition main"
    assert found({"train": Ask(gpus=8)}, Site(gpu_model="h100")) == [("problem", f"train: {words}")]


def test_a_job_can_be_given_what_the_largest_nodes_and_the_longest_limit_allow(slurm, monkeypatch) -> None:
    differ = "3 16 64000 (null) 4:00:00\n1 64+ 512000+ gpu:4 1-00:00:00\n"
    slurm(sinfo="a\nmain*\n", nodes={"main": differ, "a": "1 1 1000 (null) infinite\n"})
    monkeypatch.setattr(nodes, "_known", {})
    assert limits_of("main") == limits_of(None) == (1_440, 512_000), "the default, if none is named"
    assert limits_of("a") == (None, 1_000) and limits_of("a,main") == (None, 512_000)
    assert limits_of("b") == (None, None)
    slurm(nodes={"main": "", "b": "1 1 2000 (null) 1:00:00\n"})
    assert limits_of("main") == (1_440, 512_000) and limits_of("b") == (60, 2_000), "asked again where nobody answered"


def test_what_fills_a_partition_fits(slurm) -> None:
    slurm(nodes={"main": NODES})
    assert found({"train": WHOLE}) == [("ok", "every job fits on those of main")]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"cpus": 5}, "40 cores a node are asked for, at most 32 are there"),
        ({"mem_mb": 64_001}, "64001 MB a node are asked for, at most 64000 are there"),
        ({"runtime": 1_441}, "1441 minutes are asked for, at most 1440 are there"),
        ({"gpus": 18, "cpus": 1}, "9 GPUs a node are asked for, at most 8 are there"),
        ({"gpus": 24, "nodes": 3}, "3 nodes are asked for, at most 2 are there"),
    ],
)
def test_more_of_anything_is_told_with_what_there_is(slurm, more, words) -> None:
    slurm(nodes={"main": NODES})
    (only,) = check_nodes(Site(), {"train": replace(WHOLE, **more)}, "main")
    assert (only.level, only.words) == ("problem", f"train: {words} in partition main")
    assert only.fix == "say otherwise under resources in config/site.yaml"


def test_no_limit_of_time_is_too_short_for_nothing(slurm) -> None:
    slurm(nodes={"main": "1 1 2000 (null) infinite\n"})
    assert [level for level, _ in found({"score": Ask(runtime=1_000_000)})] == ["ok"]


def test_jobs_that_ask_for_the_same_are_told_together(slurm) -> None:
    slurm(nodes={"main": "1 1 2000 (null) infinite\n"})
    asks = {"clean": Ask(mem_mb=3_000), "score": Ask(), "encode": Ask(mem_mb=3_000)}
    words = "3000 MB a node are asked for, at most 2000 are there in partition main"
    assert found(asks) == [("problem", f"clean, encode: {words}")]


def test_jobs_with_gpus_are_held_against_the_partition_that_has_them(slurm) -> None:
    slurm(nodes={"cpu": "1 4 8000 (null) infinite\n", "gpu": NODES})
    asks = {"score": Ask(), "train": Ask(gpus=8)}
    assert found(asks, Site(partition="cpu", gpu_partition="gpu")) == [("ok", "every job fits on those of cpu, gpu")]
    assert found(asks, Site(gpu_partition="gpu"), "cpu") == [("ok", "every job fits on those of cpu, gpu")]
    assert found(asks, Site(partition="cpu")) == [
        ("problem", "train: 8 cores a node are asked for, at most 4 are there in partition cpu"),
        ("problem", "train: 8 GPUs a node are asked for, at most 0 are there in partition cpu"),
    ]


def test_of_several_partitions_one_is_enough(slurm) -> None:
    slurm(nodes={"old": "9 4 8000 (null) infinite\n", "new": NODES})
    site = Site(partition="old,new")
    assert found({"score": Ask(), "train": WHOLE}, site) == [("ok", "every job fits on those of new, old")]
    assert found({"train": replace(WHOLE, nodes=1, gpus=1, mem_mb=64_001)}, site) == [
        ("problem", "train: 64001 MB a node are asked for, at most 8000 are there in partition old"),
        ("problem", "train: 1 GPUs a node are asked for, at most 0 are there in partition old"),
        ("problem", "train: 64001 MB a node are asked for, at most 64000 are there in partition new"),
    ]


def test_a_correction_is_asked_for_where_the_site_is(slurm, monkeypatch) -> None:
    slurm(nodes={"main": NODES})
    monkeypatch.setenv("AXENAT_SITE", "/shared/site.yaml")
    (only,) = check_nodes(Site(), {"train": replace(WHOLE, mem_mb=64_001)}, "main")
    assert only.fix == "say otherwise under resources in /shared/site.yaml"


def test_nothing_is_claimed_where_slurm_does_not_tell(slurm) -> None:
    slurm(nodes={})
    assert nodes_of("main") == []
    assert found({"train": WHOLE}) == found({"train": WHOLE}, default=None) == []


def test_a_command_that_fails_or_is_missing_says_nothing(slurm, tmp_path) -> None:
    slurm()
    (tmp_path / "bin/broken").write_text("#!/bin/sh\necho here\nexit 1\n")
    (tmp_path / "bin/broken").chmod(0o755)
    assert slurm_lines("broken") == slurm_lines("missing") == []
