"""A study: recipes and grids become runs, and each stage depends on its own keys alone."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from axenat.corpus_config import SPLITS
from axenat.evaluate.seeds import group_of
from axenat.files import read_yaml, write_yaml
from axenat.recipe import FOLDER
from axenat.records import ConfigError, merge
from axenat.study import parse_study
from tests.studies import study

NO_STUDIES = ("paper", "site", "site.example")
CONFIGS = sorted(path for path in (Path(__file__).parents[1] / "config").glob("*.yaml") if path.stem not in NO_STUDIES)
keys = st.sampled_from("abc")
trees = st.recursive(st.integers(), lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=8)
mappings = st.dictionaries(keys, trees, max_size=3)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_studies_of_the_repository_are_allowed(path) -> None:
    parse_study(yaml.safe_load(path.read_text(encoding="utf-8")))


@given(mappings, mappings)
def test_merge_is_deep_and_the_differences_win(base, differences) -> None:
    merged = merge(base, differences)
    assert merged.keys() == base.keys() | differences.keys()
    for key, value in merged.items():
        if isinstance(base.get(key), dict) and isinstance(differences.get(key), dict):
            assert value == merge(base[key], differences[key])
        else:
            assert value == differences.get(key, base.get(key))


@given(mappings)
def test_merging_nothing_changes_nothing_and_leaves_the_base_alone(base) -> None:
    before = repr(base)
    assert merge(base, {}) == base and merge({}, base) == base and merge(base, base) == base
    merge(base, {"a": {"b": {"c": 1}}})
    assert repr(base) == before


def test_a_run_is_its_recipe_with_its_differences_over_it() -> None:
    runs = parse_study(study(runs__ce__train={"peak_lr": 0.1})).runs
    assert runs["ce"].train.peak_lr == 0.1 and runs["ce"].train.steps == 10
    assert runs["teacher"].train.peak_lr != 0.1
    assert runs["teacher"].objective.name == "left_to_right" and runs["teacher"].model == runs["ce"].model


def test_a_grid_becomes_one_named_run_for_each_value() -> None:
    parsed = parse_study(study())
    grid = parsed.grids["axe"]
    assert (grid.key, grid.runs) == ("skip_target_penalty", ("axe-delta1", "axe-delta2.5"))
    assert [parsed.runs[run].objective.skip_target_penalty for run in grid.runs] == [1.0, 2.5]
    assert "axe" not in parsed.runs


@pytest.mark.parametrize(
    ("path", "value", "names"),
    [
        ("runs__axe__objective__skip_target_penalty", [3], ["axe-delta3"]),
        ("runs__axe__objective__skip_target_penalty", [2, 2, 4], ["axe-delta2", "axe-delta4"]),
        ("runs__axe__objective__skip_target_penalty", [1, 1, 2, 1.0], ["axe-delta1", "axe-delta2"]),
        ("runs__ce__train", {"peak_lr": [0.001, 0.002]}, ["ce-peak-lr0.001", "ce-peak-lr0.002"]),
        ("runs__ce__model", {"dropout": [0.1, 0.3]}, ["ce-dropout0.1", "ce-dropout0.3"]),
    ],
)
def test_any_one_key_can_be_a_grid(path, value, names) -> None:
    parsed = parse_study(study(**{path: value}))
    grid = parsed.grids[path.split("__")[1]]
    assert list(grid.runs) == names
    assert set(names) <= parsed.runs.keys()


def test_teachers_and_students_are_told_apart() -> None:
    parsed = parse_study(study())
    assert parsed.teachers == ["teacher"]
    assert parsed.students == ["ce", "axe-delta1", "axe-delta2.5"]


def test_seeds_are_repeats_and_no_grid() -> None:
    parsed = parse_study(study(runs__ce__seed=[1, 2, 2, 3]))
    names = ["ce-seed1", "ce-seed2", "ce-seed3"]
    assert [run for run in parsed.runs if run.startswith("ce")] == names
    assert [parsed.runs[run].seed for run in names] == [1, 2, 3]
    assert list(parsed.grids) == ["axe"]
    assert {group_of({"run": run, "seed": parsed.runs[run].seed}) for run in names} == {"ce"}


def test_a_grid_may_ask_what_an_option_is_worth() -> None:
    objective = {"name": "axe", "observe": "none", "train_length_multiplier": [1, 1.1]}
    parsed = parse_study(study(runs__axe__objective=objective))
    assert parsed.grids["axe"].runs == ("axe-train-length-multiplier1", "axe-train-length-multiplier1.1")


def sections(parsed) -> dict[tuple[str, str, str], dict]:
    """Everything that any stage depends on."""
    by_split = [f"{stage}-{split}" for stage in ("download", "clean") for split in ("train", "valid", "test")]
    corpus_stages = (*by_split, "origin", "subwords", "distil", "analysis")
    found = {("corpora", name, stage): None for name in parsed.corpora for stage in corpus_stages}
    found |= {("runs", name, stage): None for name in parsed.runs for stage in ("config", "decode")}
    return {place: parsed.section(*place) for place in found}


RUNS = ("teacher", "ce", "axe-delta1", "axe-delta2.5")


@pytest.mark.parametrize(
    ("path", "value", "stale"),
    [
        # how a run is decoded does not change how it is trained
        ("runs__ce__decode", {"num_length_candidates": 3}, {("runs", "ce", "decode")}),
        ("recipes__small__decode", {"tokens_per_batch": 3}, {("runs", run, "decode") for run in RUNS}),
        ("recipes__small__decode", {"engine": "torch"}, {("runs", run, "decode") for run in RUNS}),
        ("recipes__small__decode", {"beam_size": 3}, {("runs", "teacher", "decode")}),
        ("recipes__small__decode", {"length_penalties": [0.6]}, {("runs", "teacher", "decode")}),
        ("recipes__small__decode", {"length_multipliers": [1.1]}, {("runs", run, "decode") for run in RUNS[1:]}),
        ("recipes__small__decode", {"rank_norm": "sum"}, {("runs", run, "decode") for run in RUNS[1:]}),
        ("recipes__small__decode", {"iterations": 4}, {("runs", run, "decode") for run in RUNS[1:]}),
        # what is reported beside it changes nothing that is there
        ("recipes__small__decode", {"also": ["ell1", "beam1", "ell5-t4"]}, set()),
        ("runs__ce__train", {"peak_lr": 0.1}, {("runs", "ce", "config")}),
        ("runs__ce__seed", 5, {("runs", "ce", "config")}),
        ("runs__ce__start_from", "teacher", {("runs", "ce", "config")}),
        ("runs__ce__start_from", None, set()),
        # a key of a recipe changes the runs whose system reads it
        ("recipes__small__objective__skip_target_penalty", 3, set()),
        ("recipes__small__objective__observe", "none", {("runs", run, "config") for run in RUNS[1:]}),
        ("recipes__small__objective__smoothing", "inside", {("runs", run, "config") for run in RUNS[2:]}),
        ("recipes__small__objective__eos", "drop", {("runs", run, "config") for run in RUNS[1:]}),
        ("recipes__small__objective__label_smoothing", 0.2, {("runs", run, "config") for run in RUNS}),
        ("runs__ce__objective", {"observe": "none"}, {("runs", "ce", "config")}),
        ("runs__ce__objective", {"eos": "drop"}, {("runs", "ce", "config")}),
        ("runs__teacher__objective__normalise", "sentences", {("runs", "teacher", "config")}),
        # each stage of a corpus for itself
        ("corpora__demo__grammar__seed", 2, {("corpora", "demo", f"download-{split}") for split in SPLITS}),
        ("corpora__demo__references", 4, {("corpora", "demo", f"download-{split}") for split in SPLITS}),
        ("corpora__own__references", 2, {("corpora", "own", f"download-{split}") for split in SPLITS[1:]}),
        ("corpora__demo__clean", {"max_length": 9}, {("corpora", "demo", "clean-train")}),
        ("corpora__demo__text", {"truecase": True}, {("corpora", "demo", "subwords")}),
        ("corpora__demo__subwords", {"merges": 9}, {("corpora", "demo", "subwords")}),
        ("corpora__demo__distil__shards", 9, {("corpora", "demo", "distil")}),
        ("corpora__demo__analysis", {"short_below": 9}, {("corpora", "demo", "analysis")}),
        # words for people
        ("note", "another", set()),
    ],
)
def test_changing_one_key_changes_only_what_depends_on_it(path, value, stale) -> None:
    before, after = sections(parse_study(study())), sections(parse_study(study(**{path: value})))
    assert {place for place in before if before[place] != after[place]} == stale


def test_another_delta_in_a_grid_leaves_its_neighbours_alone() -> None:
    before = parse_study(study())
    after = parse_study(study(runs__axe__objective__skip_target_penalty=[1, 4]))
    assert after.grids["axe"].runs == ("axe-delta1", "axe-delta4")
    for run in ("teacher", "ce", "axe-delta1"):
        assert before.section("runs", run, "config") == after.section("runs", run, "config")


def test_a_section_is_plain_yaml() -> None:
    for section in sections(parse_study(study())).values():
        assert yaml.safe_load(yaml.safe_dump(section)) == section


def test_a_run_knows_its_corpus() -> None:
    parsed = parse_study(study(runs__ce={"recipe": "small", "corpus": "own"}))
    assert parsed.corpus_of("ce") is parsed.corpora["own"]
    assert parsed.corpus_of("teacher") is parsed.corpora["demo"]


RULES = ("all", "train")


@pytest.mark.parametrize(
    "target",
    ["all", "train", "results/runs/ce/test/ell5.score.json", "results/runs/ce/valid/ell1.txt",
     "./results/runs/teacher/valid/beam5.txt",
     "results/runs", "results/runs/ce", "results/runs/ce/tuned.json", "results/runs/ce/checkpoints/state.safetensors"],
)  # fmt: skip
def test_a_file_of_the_study_may_be_asked_for(target) -> None:
    parse_study(study()).check_targets([target], RULES)


@pytest.mark.parametrize("start", ["", "./", ".//", "results/../"])
@pytest.mark.parametrize("end", ["", "/", "/tuned.json", "/test/ell5.txt"])
def test_a_file_of_an_unknown_run_is_refused_with_the_known_ones(start, end) -> None:
    with pytest.raises(ConfigError, match="unknown run 'nobody'; known are teacher, ce, axe-delta1"):
        parse_study(study()).check_targets([f"{start}results/runs/nobody{end}"], RULES)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (
            "ce/test/ell7.score.json",
            "unknown decoding 'ell7' of ce; allowed are ell5, ell1, as its decode section says",
        ),
        ("ce/valid/beam5.txt", "unknown decoding 'beam5' of ce; allowed are ell5, ell1, as its"),
        ("teacher/test/ell5.txt", "'ell5' of teacher; allowed are beam5, as its decode section says; decode.also adds"),
    ],
)
def test_only_decodings_that_a_run_has_may_be_asked_for(target, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_study(study()).check_targets([f"results/runs/{target}"], RULES)


def test_an_unknown_rule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown rule 'trane'; known are all, train"):
        parse_study(study()).check_targets(["train", "trane"], RULES)


def published(**changes):
    corpus = {"recipe": "wmt14-en-de", "source_language": "en", "target_language": "de", **changes}
    return study(corpora__own=corpus)


def test_another_test_set_leaves_train_and_valid_alone() -> None:
    before = sections(parse_study(published()))
    after = sections(parse_study(published(test_set="newstest2014-filtered")))
    changed = {place[2] for place in before if before[place] != after[place]}
    assert changed == {"download-test", "origin"}


def test_words_and_further_addresses_of_a_recipe_make_no_text_stale(tmp_path) -> None:
    recipe = read_yaml(FOLDER / "wmt14-en-de.yaml")
    recipe["citation"] += " Again."
    recipe["expected"]["raw"] += 1
    for archive in recipe["archives"].values():
        archive["addresses"].append("https://another.example/archive.tgz")
    write_yaml(tmp_path / "own.yaml", recipe)
    before, after = (
        sections(parse_study(published(**change))) for change in ({}, {"recipe": str(tmp_path / "own.yaml")})
    )
    assert {place[2] for place in before if before[place] != after[place]} == {"origin"}


def test_a_table_that_is_asked_for_twice_is_there_once_in_the_order_of_the_study() -> None:
    assert parse_study(study(tables=["systems", "lengths", "systems"])).tables == ("systems", "lengths")


def test_teachers_of_several_corpora_have_one_order_whatever_that_of_the_corpora(tmp_path) -> None:
    """Each corpus has its own; the order of keys in a file must change nothing that is read from it."""
    values = study(runs__again={"recipe": "small", "corpus": "own", "objective": {"name": "left_to_right"}})
    values["corpora"]["own"]["distil"] = {"teacher": "again", "shards": 2}
    turned = {**values, "corpora": dict(reversed(values["corpora"].items()))}
    for each in (values, turned):
        parsed = parse_study(each)
        assert parsed.teachers == ["again", "teacher"]
        assert [run for run in parsed.runs if run not in parsed.students] == ["teacher", "again"]


def test_the_origin_of_a_corpus_tells_the_sum_of_each_archive_whichever_it_has() -> None:
    parsed = parse_study(published())
    archives = parsed.selections["own"].archives.values()
    told = parsed.section("corpora", "own", "origin")["archives"]
    assert told == {one.place: one.sha256 if one.sha256 else one.md5 for one in archives}
    assert all(len(digest) in (32, 64) for digest in told.values())
    assert {bool(one.sha256) for one in archives} == {True, False}, "or one kind of sum is not looked at"


def test_a_teacher_of_another_corpus_is_refused() -> None:
    values = study(corpora__own__distil={"teacher": "teacher", "shards": 2})
    with pytest.raises(ConfigError, match="teacher must be a left_to_right run on the raw side of own"):
        parse_study(values)


def test_the_licence_of_a_part_and_what_others_count_in_it_make_no_text_stale(tmp_path) -> None:
    recipe = read_yaml(FOLDER / "wmt14-en-de.yaml")
    for part in recipe["parts"].values():
        part |= {"licence": "another", "pairs": 12345}
    write_yaml(tmp_path / "own.yaml", recipe)
    before, after = (
        sections(parse_study(published(**change))) for change in ({}, {"recipe": str(tmp_path / "own.yaml")})
    )
    assert {place[2] for place in before if before[place] != after[place]} == {"origin"}
