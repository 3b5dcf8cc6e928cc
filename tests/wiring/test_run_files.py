"""A key of a run is in the one file of its stage, config.yaml or decode.yaml, if the run reads it, and in no other."""

from typing import Any

import pytest

from axenat import layout
from axenat.config import DecodeConfig, ModelConfig, RunConfig, TrainConfig
from axenat.corpus_config import AnalysisConfig, DistilConfig
from axenat.jobs import jobs_of
from axenat.records import ConfigError, as_plain
from axenat.study import Study, parse_study
from axenat.systems.registry import SYSTEMS
from tests.studies import study
from tests.support.wiring import keys_of, others
from tests.test_study import sections
from tests.wiring.test_model_keys import SIZES

SECTIONS = {"model": ModelConfig, "objective": None, "train": TrainConfig, "decode": DecodeConfig}
OF_RUNS: dict[str, list[Any]] = {"corpus": ["own"], "target_side": ["raw"], "seed": [7], "start_from": ["first"]}
OBJECTIVES = {"teacher": "left_to_right", "ce": "masked", "axe": "axe"}


def small(**changes: Any) -> dict[str, Any]:
    """The study of these tests without its grid, and with a run that others may start from."""
    runs = {"runs__axe": {"recipe": "small", "objective": {"name": "axe"}}, "runs__first": {"recipe": "small"}}
    return study(**{**runs, **changes})


def stale(changed: dict[str, Any]) -> set[tuple[str, str, str]]:
    before, after = (sections(parse_study(values)) for values in (small(), changed))
    return {place for place in before.keys() | after.keys() if before.get(place) != after.get(place)}


def kind_of(run: str, section: str) -> type:
    """The record of a section, which for `objective` depends on the run's system."""
    return SECTIONS[section] or SYSTEMS[OBJECTIVES[run]].settings


def cases() -> list[tuple[str, str, str, Any]]:
    found = []
    for run in OBJECTIVES:
        config = as_plain(parse_study(small()).runs[run])
        for section in SECTIONS:
            kind = kind_of(run, section)
            for key in keys_of(kind):
                values = others(kind, config[section], key) or {"also": [["ell3", "beam3"]]}.get(key, [])
                found += [(run, section, key, value) for value in values[:1] if key != "name"]
    return found


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_of_a_run_is_tried(section) -> None:
    tried = {key for _, of, key, _ in cases() if of == section} | {"name"}
    keys = dict.fromkeys(key for run in OBJECTIVES for key in keys_of(kind_of(run, section)))
    missing = [f"{section}.{key}: add a value to try" for key in keys if key not in tried]
    assert missing in ([], ["objective.train_length_multiplier: add a value to try"]), "the one needs observe none"
    assert {*OF_RUNS, *SECTIONS} == set(keys_of(RunConfig))


@pytest.mark.parametrize(("run", "section", "key", "value"), cases(), ids=lambda value: str(value))
def test_a_key_is_in_the_file_of_its_stage_if_its_run_reads_it(run, section, key, value) -> None:
    config = parse_study(small()).runs[run]
    is_read = section != "decode" or key in (*config.system.decoding.keys, "engine", "precision", "tokens_per_batch")
    expected = {("runs", run, "decode" if section == "decode" else "config")} if is_read else set()
    assert stale(small(**{f"runs__{run}__{section}": {**_said(run, section), key: value}})) == expected


def _said(run: str, section: str) -> dict[str, Any]:
    return {"name": OBJECTIVES[run]} if section == "objective" else {}


@pytest.mark.parametrize("key", OF_RUNS)
def test_what_a_run_is_trained_on_is_in_its_config(key) -> None:
    (value,) = OF_RUNS[key]
    sided = {"runs__ce__target_side": "raw"} if key == "corpus" else {}
    first, second = (parse_study(small(**sided, **more)) for more in ({}, {f"runs__ce__{key}": value}))
    before, after = sections(first), sections(second)
    assert {place for place in before if before[place] != after[place]} == {("runs", "ce", "config")}
    assert after["runs", "ce", "config"][key] == value


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        ({"subwords": {"joint": False}}, "joint", False),
        ({"target_language": "ro"}, "target_language", "ro"),
        ({"source_language": "fr"}, "source_language", "fr"),
    ],
)
def test_what_a_model_must_know_of_its_corpus_is_in_the_config_of_its_runs_alone(change, key, value) -> None:
    own = {**small()["corpora"]["own"], **change}
    runs = {"runs__axe__corpus": "own"}
    first, second = (parse_study(small(**runs, **more)) for more in ({}, {"corpora__own": own}))
    before, after = sections(first), sections(second)
    changed = {place[1:] for place in before if before[place] != after[place] and place[0] == "runs"}
    assert changed == {("axe", "config")} and after["runs", "axe", "config"][key] == value


# Keys that no stage reads from a file: they say which jobs there are, and what those read.


def planned(parsed: Study) -> Any:
    """Paths that the workflow asks for, and how many jobs there are."""
    runs = {
        run: (
            layout.output(parsed, run, "test", "txt"), layout.further_outputs(parsed, run, "test", "txt"),
            *(layout.ids(parsed, run, split) for split in ("train", "valid")), layout.start(parsed, run),
        )
        for run in parsed.runs
    }  # fmt: skip
    return runs, jobs_of(parsed), layout.shards(parsed, "demo", "target"), layout.teacher(parsed, "demo")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("runs__ce__decode", {"also": ["ell3"]}),
        ("runs__ce__decode", {"num_length_candidates": 3}),
        ("runs__ce__decode", {"iterations": 3}),
        ("runs__teacher__decode", {"beam_size": 3}),
        ("runs__ce__target_side", "raw"),
        ("runs__ce__start_from", "first"),
        ("runs__axe__corpus", "own"),
        ("corpora__demo__distil__shards", 5),
        ("corpora__demo__distil__teacher", "other"),
    ],
)
def test_a_key_that_says_which_jobs_there_are_changes_the_plan(path, value) -> None:
    more = {"runs__other": {"recipe": "small", "objective": {"name": "left_to_right"}}}
    assert planned(parse_study(small(**more, **{path: value}))) != planned(parse_study(small(**more)))


def test_a_run_is_trained_on_its_own_side_and_validated_on_the_raw_one() -> None:
    parsed = parse_study(small(runs__axe__corpus="own"))
    for run, place in (("ce", "demo/distilled"), ("teacher", "demo/raw"), ("axe", "own/raw")):
        assert layout.ids(parsed, run, "train") == f"results/corpora/{place}/train.safetensors"
        corpus = place.partition("/")[0]
        for split in ("valid", "test"):
            assert layout.ids(parsed, run, split) == f"results/corpora/{corpus}/raw/{split}.safetensors"


@pytest.mark.parametrize(
    ("section", "kind", "values"),
    [
        ("distil", DistilConfig, {"teacher": "other", "shards": 5}),
        ("analysis", AnalysisConfig, {"length_bounds": [1, 4], "short_below": 7, "long_above": 40}),
    ],
)
def test_a_section_of_a_corpus_with_a_file_of_its_own_is_in_no_other(section, kind, values) -> None:
    assert set(values) == set(keys_of(kind)), f"{section}: add a value to try"
    more = {"runs__other": {"recipe": "small", "objective": {"name": "left_to_right"}}}
    before = sections(parse_study(small(**more)))
    for key, value in values.items():
        old = {"teacher": "teacher", "shards": 2} if section == "distil" else {}
        after = sections(parse_study(small(**more, **{f"corpora__demo__{section}": {**old, key: value}})))
        assert {place for place in before if before[place] != after[place]} == {("corpora", "demo", section)}
        assert after["corpora", "demo", section][key] == value


@pytest.mark.parametrize("key", keys_of(ModelConfig))
def test_a_run_starts_from_another_if_all_is_alike_that_weights_depend_on(key) -> None:
    """The shapes of weights, and how many heads share them; what acts in training alone may differ."""
    base = {"width": 16, "heads": 2, "encoder_layers": 2, "decoder_layers": 3, "hidden": 20}
    value = others(ModelConfig, base, key)[0]
    changed = small(recipes__small__model=base, runs__ce__start_from="first", runs__ce__model={key: value})
    if key in SIZES | {"heads"}:
        with pytest.raises(ConfigError, match=f"runs.ce.start_from: model.{key} of first is"):
            parse_study(changed)
    else:
        assert parse_study(changed).runs["ce"].start_from == "first"
