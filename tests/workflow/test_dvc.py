"""DVC and Snakemake describe the same study: rule by rule, file by file, key by key."""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo

from axenat import layout
from axenat.catalogue import TABLE_NAMES
from axenat.dvc_stages import CONFIG, VERSIONS, check_described, describe, is_described, stages_of, text_of
from axenat.files import UserError, read_yaml, write_text, write_yaml
from axenat.records import ConfigError, merge
from axenat.study import Study, parse_study

ROOT = Path(__file__).parents[2]
# What no two machines agree on.
EXCEPTIONS = re.compile(r"results/speed/.*|results/runs/[^/]+/provenance\.json")


@dataclass(frozen=True)
class DvcStage:
    """As DVC itself reads dvc.yaml."""

    deps: set[str]
    outs: set[str]
    versions: set[str]
    keys: set[str]


@dataclass(frozen=True)
class Job:
    rule: str
    outputs: set[str]
    inputs: set[str]


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    return read_yaml(ROOT / "config/config.yaml")


@pytest.fixture(scope="module")
def study(values) -> Study:
    return parse_study(values)


@pytest.fixture(scope="module")
def workshop(new_workshop, tmp_path_factory):
    """Described by the code as it is now; that dvc.yaml of the repository is the same has a test of its own."""
    workshop = new_workshop(tmp_path_factory.mktemp("described"))
    describe(workshop.folder / CONFIG, workshop.folder / "dvc.yaml")
    for command in (("git", "init", "-q"), ("dvc", "init", "-q")):
        assert workshop.run(*command).returncode == 0
    return workshop


@pytest.fixture(scope="module")
def stages(workshop) -> dict[str, DvcStage]:
    with Repo(str(workshop.folder)) as repo:
        return {stage.name: _read(stage) for stage in repo.index.stages}


def _read(stage: Any) -> DvcStage:
    files = {dep.def_path for dep in stage.deps if not hasattr(dep, "params")}
    params = {dep.def_path: set(dep.params) for dep in stage.deps if hasattr(dep, "params")}
    outs = {out.def_path for out in stage.outs}
    return DvcStage(files, outs, params.get(VERSIONS, set()), params.get(CONFIG, set()))


@pytest.fixture(scope="module")
def jobs(workshop) -> list[Job]:
    done = workshop.snakemake("-n", "all")
    assert done.returncode == 0, done.stderr
    found = []
    for block in re.split(r"\n(?=\[)", done.stdout):
        rule = re.search(r"^(?:local)?rule (\w+):", block, re.MULTILINE)
        if rule and rule[1] != "all":
            found.append(Job(rule[1], _files("output", block), _files("input", block)))
    return found


def _files(kind: str, block: str) -> set[str]:
    listed = re.search(rf"^    {kind}: (.*)$", block, re.MULTILINE)
    return set(listed[1].split(", ")) if listed else set()


def _lies_in(path: str, places: set[str]) -> str | None:
    """The place that is this file, or a folder around it."""
    around = [path, *(str(parent) for parent in Path(path).parents)]
    return next((place for place in around if place in places), None)


def _covered(stage: DvcStage, jobs: list[Job]) -> list[Job]:
    """Jobs that make the stage's files; those that write raw text go with the one that cleans it."""
    raw = "download" in stage.versions
    return [
        job
        for job in jobs
        if any(_lies_in(path, stage.outs) for path in job.outputs) or (raw and job.rule.startswith("download_"))
    ]


def test_dvc_yaml_is_what_the_study_says(values):
    assert is_described(ROOT / "config/config.yaml", ROOT / "dvc.yaml"), "run `axenat describe`"


def test_every_file_of_the_study_is_an_out_of_one_stage_but_for_raw_data_and_what_a_clock_says(stages, jobs):
    for path in {path for job in jobs for path in job.outputs}:
        keepers = [name for name, stage in stages.items() if _lies_in(path, stage.outs)]
        apart = path.startswith("data/") or EXCEPTIONS.fullmatch(path)
        assert len(keepers) == (0 if apart else 1), (path, keepers)
    made = {path for job in jobs for path in job.outputs}
    for name, stage in stages.items():
        assert all(any(_lies_in(path, {out}) for path in made) for out in stage.outs), name


def test_deps_are_the_inputs_of_the_rules(stages, jobs):
    for name, stage in stages.items():
        covered = _covered(stage, jobs)
        own = {path for job in covered for path in job.outputs}
        inputs = {path for job in covered for path in job.inputs} - own
        inputs = {path for path in inputs if not EXCEPTIONS.fullmatch(path)}
        assert {path for path in inputs if not _lies_in(path, stage.deps)} == set(), f"{name} lacks deps"
        # Raw text is told apart by corpus alone.
        read = {_lies_in(path, stage.deps) for path in inputs} | ({"data"} if "download" in stage.versions else set())
        assert stage.deps == read, f"{name} has deps that no rule reads"


def test_versions_are_those_of_the_rules(stages, jobs):
    for name, stage in stages.items():
        assert stage.versions == {_version(job.rule) for job in _covered(stage, jobs)} - {None}, name


def _version(rule: str) -> str | None:
    """The stage version that a rule has among its params; a rule made of another has the other's."""
    rules = "\n".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    origin = re.search(rf"use rule (\w+) as {rule} with", rules)
    name = "download" if rule.startswith("download_") else origin[1] if origin else rule
    if name == "download":
        return name
    body = rules[re.search(rf"^rule {name}:", rules, re.MULTILINE).end() :]  # type: ignore[union-attr]
    body = re.split(r"^(?:rule|use rule|for) ", body, flags=re.MULTILINE)[0]
    found = re.search(r'VERSIONS\["(\w+)"\]', body)
    return found[1] if found else None


def test_every_version_is_a_parameter_of_some_stage_but_the_clocks(stages):
    named = {version for stage in stages.values() for version in stage.versions}
    assert named == read_yaml(ROOT / VERSIONS).keys() - {"speed"}


def test_a_key_that_changes_what_a_run_or_corpus_is_told_is_a_parameter_of_its_stage(stages, values, study):
    """Every number and switch of the study is changed in turn; those that no longer fit are refused, most are not."""
    tried = 0
    for key, changed in _changes(values):
        try:
            other = parse_study(changed)
        except ConfigError:
            continue
        if list(other.runs) != list(study.runs):
            assert text_of(changed) != text_of(values), key  # then dvc.yaml has to be written anew, and says so
            continue
        tried += 1
        for run in study.runs:
            if any(
                study.section("runs", run, part) != other.section("runs", run, part) for part in ("config", "decode")
            ):
                assert _names(stages[f"configure_run@{run}"].keys, key), (key, run)
        for corpus in study.corpora:
            sections = ("clean-train", "clean-test", "download-train", "subwords", "analysis")
            if any(
                study.section("corpora", corpus, part) != other.section("corpora", corpus, part) for part in sections
            ):
                assert _names(stages[f"configure_corpus@{corpus}"].keys, key), key
            if study.section("corpora", corpus, "distil") != other.section("corpora", corpus, "distil"):
                assert _names(stages[f"distil@{corpus}"].keys, key), key
        assert _names(stages["configure_requests"].keys, key)
    assert tried > 30


def _changes(values: dict[str, Any], *path: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    place = values
    for part in path:
        place = place[part]
    for key, value in list(place.items() if isinstance(place, dict) else enumerate(place)):
        if isinstance(value, dict | list):
            yield from _changes(values, *path, key)
        else:
            changed = copy.deepcopy(values)
            inside: Any = changed
            for part in path:
                inside = inside[part]
            inside[key] = not value if isinstance(value, bool) else f"{value}x" if isinstance(value, str) else value + 1
            yield ".".join(str(part) for part in (*path, key)), changed


def _names(keys: set[str], key: str) -> bool:
    return any(key == known or key.startswith(f"{known}.") for known in keys)


def test_no_stage_lets_dvc_delete_results_before_snakemake_has_looked(values):
    for stage in stages_of(values).values():
        body = stage.get("do", stage)
        for out in [out for kind in ("outs", "metrics", "plots") for out in body.get(kind, [])]:
            assert [options["persist"] for options in out.values()] == [True]


def test_scores_are_metrics_and_curves_are_plots(values):
    stages = stages_of(values)
    assert [list(out) for out in stages["score"]["do"]["metrics"]] == [
        ["results/runs/${item.run}/test/${item.decode}.metrics.json"]
    ]
    drawn = {path for out in stages["figures"]["plots"] for path in out}
    assert drawn == set(layout.figures("svg"))


@pytest.mark.parametrize("name", ["tiny", "multi30k", "wmt14-en-de"])
def test_any_study_can_be_described(tmp_path, name):
    config = ROOT / f"config/{name}.yaml"
    assert describe(config, tmp_path / "dvc.yaml")
    assert not describe(config, tmp_path / "dvc.yaml")
    assert set(read_yaml(tmp_path / "dvc.yaml")["stages"]) >= {"clean", "train", "distil", "score", "report"}


def test_a_run_that_starts_from_another_depends_on_its_weights(values):
    stages = stages_of(merge(values, {"runs": {"ce-raw": {"start_from": "teacher"}}}))
    assert stages["train_from"]["foreach"] == {"ce-raw": {"corpus": "demo", "target_side": "raw", "start": "teacher"}}
    assert "ce-raw" not in stages["train"]["foreach"] and "train_from" not in stages_of(values)
    (weights,) = set(stages["train_from"]["do"]["deps"]) - set(stages["train"]["do"]["deps"])
    assert weights.replace("${item.start}", "teacher") in layout.model("teacher")


def test_a_study_without_grids_and_teachers_has_no_stages_for_them(values):
    alone = copy.deepcopy(values)
    alone["runs"] = {"ce-raw": alone["runs"]["ce-raw"]}
    del alone["corpora"]["demo"]["distil"]
    assert not stages_of(alone).keys() & {"choose", "distil", "encode_distilled"}


def test_a_tokenised_test_set_is_an_out_of_every_study_since_it_is_translated(values):
    for tables in (list(TABLE_NAMES), ["lengths"]):
        stages = stages_of({**values, "tables": tables})
        assert "clean/test.source" in str(stages["clean"]["do"]["outs"])
        assert "results/corpora/${item.corpus}/clean/test.source" in stages["translate"]["do"]["deps"]
        assert ("data/demo" in stages["tables"]["deps"]) == (tables != ["lengths"])


def test_references_are_tokenised_of_corpora_that_have_several_and_scores_depend_on_the_file_of_their_corpus(values):
    more = {**values["corpora"]["demo"], "references": 1}
    runs = {"alone": {"recipe": "small", "corpus": "other", "objective": {"name": "left_to_right"}}}
    stages = stages_of(merge(values, {"corpora": {"other": {**more, "distil": {"teacher": "alone"}}}, "runs": runs}))
    assert stages["clean_references"]["foreach"] == ["demo"]
    words = {item["corpus"]: item["words"] for item in stages["score"]["foreach"].values()}
    assert words == {"demo": "references", "other": "target"}
    single = {**values, "corpora": {"demo": more}}
    assert "clean_references" not in stages_of(single) and "test.references" not in text_of(single)


def test_stages_of_another_study_are_refused_in_one_sentence(tmp_path, values):
    config, out = tmp_path / "config.yaml", tmp_path / "dvc.yaml"
    write_yaml(config, values)
    describe(config, out)
    check_described(config, out)
    more = copy.deepcopy(values)
    more["runs"]["another"] = {"recipe": "small"}
    write_yaml(config, more)
    with pytest.raises(UserError, match=r"another study .* run `axenat describe`"):
        check_described(config, out)


def test_stages_that_somebody_wrote_by_hand_are_left_alone(tmp_path, values):
    config, out = tmp_path / "config.yaml", tmp_path / "dvc.yaml"
    write_yaml(config, values)
    write_text(out, "stages: {}\n")
    check_described(config, out)
    with pytest.raises(UserError, match="was not written by axenat describe"):
        describe(config, out)
