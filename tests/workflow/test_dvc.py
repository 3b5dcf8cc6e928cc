"""DVC and Snakemake describe the same study."""

from pathlib import Path
from typing import Any

import pytest

from axenat import layout
from axenat.files import read_yaml
from axenat.study import Study, parse_study

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stages() -> dict[str, Any]:
    return read_yaml(ROOT / "dvc.yaml")["stages"]


@pytest.fixture(scope="module")
def study() -> Study:
    return parse_study(read_yaml(ROOT / "config/config.yaml"))


def test_every_run_of_the_study_is_a_stage_with_its_target_side(stages, study):
    assert stages["student"]["foreach"] == {run: study.runs[run].target_side for run in study.students}
    assert [f"results/runs/{run}" for run in study.teachers] == [
        path for out in stages["teacher"]["outs"] for path in out
    ]


def test_each_stage_asks_snakemake_for_files_of_the_study(stages, study):
    commands = {"teacher": study.teachers, "student": study.students}
    for stage, runs in commands.items():
        command = stages[stage].get("do", stages[stage])["cmd"]
        for run in runs:
            for ending in ("score.json", "analysis.json"):
                assert layout.output(study, run, "test", ending) in command.replace("${key}", run)
            for path in layout.further_outputs(study, run, "test", "score.json"):
                assert path in command.replace("${key}", run)


def test_the_report_depends_on_every_run_and_on_what_is_counted_of_every_corpus(stages, study):
    runs = [f"results/runs/{run}" for run in study.runs]
    clean = [f"results/corpora/{corpus}/clean" for corpus in study.corpora]
    assert sorted(stages["report"]["deps"]) == sorted(["config/paper.yaml", "data", *clean, *runs])


def test_no_stage_lets_dvc_delete_results_before_snakemake_has_looked(stages):
    for stage in stages.values():
        for out in stage.get("do", stage)["outs"]:
            assert list(out.values()) == [{"persist": True}]


def test_raw_data_belongs_to_no_stage(stages):
    outs = [path for stage in stages.values() for out in stage.get("do", stage)["outs"] for path in out]
    assert not [path for path in outs if path.startswith("data")]


def test_every_stage_version_is_a_parameter_of_some_dvc_stage(stages):
    named = {
        name
        for stage in stages.values()
        for params in stage.get("do", stage)["params"]
        for name in params.get("workflow/stage_versions.yaml", [])
    }
    # `download` fills data/, which is pinned by its content; no two measurements of `speed` agree.
    assert named == read_yaml(ROOT / "workflow/stage_versions.yaml").keys() - {"download", "speed"}


def test_what_a_clock_says_is_in_no_ones_keeping(stages, study):
    outs = [path for stage in stages.values() for out in stage.get("do", stage)["outs"] for path in out]
    timed = [layout.SPEED, *(layout.table_file("speed", ending) for ending in ("md", "csv", "tex"))]
    assert not [path for path in timed for out in outs if path.startswith(out)]
    assert [layout.table_file("lengths", "md")] == [path for path in layout.tables(study, "md") if "lengths" in path]
