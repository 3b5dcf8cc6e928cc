"""What a stage asks for: a size, what a study wants otherwise, a site over both; and no result knows of it."""

import copy
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.dvc_stages import text_of
from axenat.files import read_yaml
from axenat.jobs import jobs_of
from axenat.records import ConfigError
from axenat.resources import OF_TEACHERS, SIZES, STAGES, Ask, resources_of
from axenat.study import parse_study
from tests.studies import study
from tests.test_study import sections

ROOT = Path(__file__).parents[1]
STUDIES = sorted({*ROOT.glob("config/*.yaml")} - {ROOT / "config/paper.yaml", ROOT / "config/site.example.yaml"})
ALLOWED = ", ".join(item.name for item in fields(Ask))
# Keys that fit together whatever their values.
LAYER = st.fixed_dictionaries(
    {}, optional={"cpus": st.integers(1, 99), "mem_mb": st.integers(500, 10**6), "runtime": st.integers(5, 10**4)}
)
LAYERS = st.dictionaries(st.sampled_from(STAGES), LAYER)
OTHER = {"size": "large", "teacher": "base", "train": {"runtime": 600}, "distil": {"cpus": 2}}


@pytest.mark.parametrize("size", SIZES)
def test_a_size_knows_every_stage_and_no_other(size) -> None:
    assert sorted(SIZES[size]) == sorted(STAGES) and len(set(STAGES)) == len(STAGES)


def test_stages_are_those_that_have_jobs_and_each_is_asked_for_by_a_rule() -> None:
    assert set(STAGES) == jobs_of(parse_study(study())).keys() - {"fetch"}
    rules = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("workflow/rules/*.smk"))
    assert set(re.findall(r'asks\("(\w+)"', rules)) == set(STAGES)
    asked, counted = (sorted(re.findall(rf'{name}\((".+?)\)', rules)) for name in ("asks", "cpus"))
    assert asked == counted, "cores are asked for with all the rest"


def test_rules_of_teachers_are_those_of_the_workflow() -> None:
    rules = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("workflow/rules/*.smk"))
    assert set(re.findall(r"as (\w+_teacher) with", rules)) == resources_of().by_rule().keys() - set(STAGES)


@pytest.mark.parametrize("size", SIZES)
def test_what_is_left_out_is_of_the_size(size) -> None:
    resources = resources_of({"size": size})
    assert {stage: resources.ask(stage) for stage in STAGES} == SIZES[size]
    assert {stage: resources.ask(stage, teacher=True) for stage in STAGES} == SIZES[size]


def test_a_study_that_says_nothing_is_small() -> None:
    assert resources_of() == resources_of({}) == resources_of({"size": "demo"}) == resources_of({"train": None})


def test_teachers_may_be_of_another_size_in_stages_of_their_own_alone() -> None:
    resources = resources_of({"size": "base", "teacher": "large"})
    for stage in STAGES:
        assert resources.ask(stage) == SIZES["base"][stage]
        assert resources.ask(stage, teacher=True) == SIZES["large" if stage in OF_TEACHERS else "base"][stage]


def test_each_rule_asks_as_the_run_that_it_works_on_and_who_distils_is_a_teacher() -> None:
    resources = resources_of({"size": "base", "teacher": "large"})
    for rule, ask in resources.by_rule().items():
        stage = rule.removesuffix("_teacher")
        assert ask == resources.ask(stage, teacher=rule != stage or rule == "distil")


@given(st.sampled_from(sorted(SIZES)), LAYERS, LAYERS)
def test_a_site_laid_over_a_study_wins_key_by_key(size, of_study, of_site) -> None:
    resources = resources_of({"size": size, **of_study}, of_site)
    for stage in STAGES:
        values = {**asdict(SIZES[size][stage]), **of_study.get(stage, {}), **of_site.get(stage, {})}
        assert asdict(resources.ask(stage)) == values


@given(st.sampled_from(sorted(SIZES)), st.sampled_from(sorted(SIZES)))
def test_a_site_may_change_the_sizes_too(size, teacher) -> None:
    assert resources_of(OTHER, {"size": size, "teacher": teacher}) == resources_of(
        {**OTHER, "size": size, "teacher": teacher}
    )


@given(LAYERS, LAYERS)
def test_layers_and_sizes_stay_as_they_are(of_study, of_site) -> None:
    before = copy.deepcopy((of_study, of_site, SIZES))
    resources_of(of_study, of_site)
    assert (of_study, of_site, SIZES) == before


def test_another_number_of_gpus_is_on_one_node_unless_it_says_otherwise() -> None:
    def train(**over: int) -> Ask:
        return resources_of({"size": "large", "train": over}).ask("train")

    assert (train().gpus, train().nodes) == (16, 2)
    assert (train(gpus=4).nodes, train(gpus=4, nodes=4).nodes, train(nodes=4).nodes) == (1, 4, 4)
    assert (train(gpus=0).nodes, train(gpus=0).ranks) == (1, 1)
    of_study, of_site = {"train": {"gpus": 16, "nodes": 2}}, {"train": {"gpus": 4}}
    assert resources_of(of_study, of_site).ask("train").nodes == 1, "also where it is another layer"


@given(st.integers(0, 16))
def test_there_is_one_process_for_each_gpu(gpus) -> None:
    assert Ask(gpus=gpus).ranks == max(1, gpus)
    assert Ask(tasks=gpus).ranks == max(1, gpus), "or as many as are named, without GPUs"


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        ([], "resources must be a mapping of keys, got []"),
        ({"size": "huge"}, "resources.size must be one of demo, base, large, got 'huge'"),
        ({"teacher": 3}, "resources.teacher must be one of demo, base, large, got 3"),
        ({"trian": {}}, f"resources.trian is not a known key; allowed are size, teacher, {', '.join(STAGES)}"),
        ({"train": 8}, "resources.train must be a mapping of keys, got 8"),
        ({"train": {"gpu": 8}}, f"resources.train.gpu is not a known key; allowed are {ALLOWED}"),
        ({"train": {"gpus": "8"}}, "resources.train.gpus must be a whole number, got the text '8'"),
        ({"train": {"gpus": True}}, "resources.train.gpus must be a whole number, got True"),
        ({"train": {"gpus": -1}}, "resources.train: gpus must be >= 0, got -1"),
        ({"clean": {"cpus": 0}}, "resources.clean: cpus must be >= 1, got 0"),
        ({"clean": {"mem_mb": 499}}, "resources.clean: mem_mb must be >= 500, got 499"),
        ({"clean": {"runtime": 4}}, "resources.clean: runtime must be >= 5, got 4"),
        ({"train": {"nodes": 0}}, "resources.train: nodes must be >= 1, got 0"),
        ({"train": {"tasks": -1}}, "resources.train: tasks must be >= 0, got -1"),
        (
            {"train": {"gpus": 3, "nodes": 2}},
            "resources.train: nodes must be alike, got 2 of them for 3 gpus and 3 processes",
        ),
        (
            {"train": {"gpus": 2, "tasks": 4}},
            "resources.train: tasks must be one for each of the 2 gpus, or be left out, got 4",
        ),
        (
            {"translate": {"gpus": 2}},
            "resources.translate: only train has several processes, got gpus 2 and tasks 0",
        ),
        ({"clean": {"tasks": 2}}, "resources.clean: only train has several processes, got gpus 0 and tasks 2"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_key_and_what_is_allowed(layer: Any, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resources_of(layer)
    assert str(refused.value).startswith(words)
    if layer:
        with pytest.raises(ConfigError, match=re.escape(words)):
            parse_study(study(resources=layer))


def test_no_section_of_a_run_or_a_corpus_knows_what_its_jobs_ask_for() -> None:
    assert sections(parse_study(study(resources=OTHER))) == sections(parse_study(study()))


def test_studies_that_differ_in_resources_alone_are_equal() -> None:
    assert parse_study(study(resources=OTHER)) == parse_study(study())
    assert parse_study(study(resources=OTHER)).resources == OTHER, "but each keeps its own"


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_what_dvc_is_told_does_not_depend_on_them(path) -> None:
    values = {key: value for key, value in read_yaml(path).items() if key != "resources"}
    assert text_of(values) == text_of({**values, "resources": OTHER}) == text_of(read_yaml(path))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_example_of_a_site_fits_over_every_study(path) -> None:
    example = read_yaml(ROOT / "config/site.example.yaml")["resources"]
    resources = resources_of(parse_study(read_yaml(path)).resources, example)
    for ask in (resources.ask("train"), resources.ask("train", teacher=True)):
        assert ask.gpus == ask.ranks == example["train"]["gpus"]
