"""A system stands in its own row of Table 3 and in no other system's, whether the house knows it or not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from axenat.evaluate.main_tables import systems
from axenat.evaluate.paper import load_paper
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.table_parts import label_of_run
from axenat.systems.registry import SYSTEMS, TEACHERS, label_of

PAPER = load_paper(Path(__file__).parents[2] / "config" / "paper.yaml")
SIDES = ("raw", "distilled")
papers = pytest.mark.parametrize("paper", [PAPER, None], ids=["published", "unpublished"])


def rows(study: StudyRecord) -> list[dict[str, Any]]:
    return [dict(row) for row in systems(study).rows]


def with_run_of(study: StudyRecord, objective: str, side: str) -> StudyRecord:
    """One more run, of the model of the study's students."""
    twin = next(run for run in study.runs if run.name == "ce-distilled")
    config = {**(twin.config or {}), "objective": {"name": objective}, "target_side": side}
    score = next(one for one in study.scores if one["run"] == twin.name)
    more = {**score, "run": "more", "objective": objective, "target_side": side, "bleu": 12.34}
    runs = [*study.runs, replace(twin, name="more", config=config)]
    return replace(study, runs=runs, scores=[*study.scores, more])


@papers
@pytest.mark.parametrize("side", SIDES)
def test_a_system_that_the_house_does_not_know_has_a_row_of_its_own(study: StudyRecord, paper, side) -> None:
    before = replace(study, paper=paper)
    after = rows(with_run_of(before, "newcomer", side))
    assert [row for row in after if row["run"] != "more"] == rows(before)
    (own,) = [row for row in after if row["run"] == "more"]
    assert own["model"] == f"newcomer, {side} targets" and own["bleu"] == 12.34 and own["iterations"] == "1"
    assert {value for key, value in own.items() if "published" in key} <= {None}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_run_stands_in_the_row_that_its_system_reproduces(study: StudyRecord, name, side) -> None:
    shown = [row for row in rows(with_run_of(replace(study, paper=PAPER), name, side)) if row["run"] == "more"]
    reproduced = [one for one in PAPER.systems if one.system and one.system == SYSTEMS[name].paper_rows.get(side)]
    same_side = [one for one in reproduced if (one.target_side or "distilled") == side]
    for row, published in zip(shown, same_side if reproduced else [None], strict=True):
        assert row["model"].startswith(published.label if published else label_of(name))


def test_every_row_of_the_paper_that_a_study_may_have_belongs_to_one_system() -> None:
    named = [row.system for row in PAPER.systems if row.system]
    owners = {row: {name for name, one in SYSTEMS.items() if row in one.paper_rows.values()} for row in named}
    assert len(named) == len(set(named)) and all(len(names) == 1 for names in owners.values()), owners
    assert set(named) == {row for one in SYSTEMS.values() for row in one.paper_rows.values()}


def test_only_a_teacher_takes_as_many_passes_as_tokens(study: StudyRecord) -> None:
    for name in SYSTEMS:
        shown = [
            row for row in rows(with_run_of(replace(study, paper=None), name, "distilled")) if row["run"] == "more"
        ]
        assert {row["iterations"] for row in shown} == {"N" if name in TEACHERS else "1"}


def with_student(study: StudyRecord, model: dict[str, Any]) -> StudyRecord:
    """A left-to-right run that teaches nobody."""
    twin, score = study.run("teacher"), next(one for one in study.scores if one["run"] == "teacher")
    config = {**(twin.config or {}), "target_side": "distilled", "model": model}
    more = {**score, "run": "more", "target_side": "distilled", "bleu": 12.34}
    runs = [*study.runs, replace(twin, name="more", config=config)]
    return replace(study, runs=runs, scores=[*study.scores, more], teachers=["teacher"])


@papers
def test_a_left_to_right_student_of_another_depth_has_a_row_with_its_layers(study: StudyRecord, paper) -> None:
    before = replace(study, paper=paper, teachers=["teacher"])
    model = dict((study.run("teacher").config or {})["model"])
    deep = with_student(before, {**model, "encoder_layers": 12, "decoder_layers": 1})
    (own,) = [row for row in rows(deep) if row["run"] == "more"]
    assert own["model"] == "left-to-right 12-1, distilled targets" and own["iterations"] == "N"
    assert [row for row in rows(deep) if row["run"] != "more"] == rows(before)
    assert label_of_run(deep, "teacher") == "left-to-right" and label_of_run(deep, "more") == "left-to-right 12-1"
    assert label_of_run(with_student(before, model), "more") == "left-to-right"


def test_a_left_to_right_student_of_the_papers_size_stands_in_its_row(study: StudyRecord) -> None:
    students = (study.run("ce-distilled").config or {})["model"]
    (own,) = [row for row in rows(with_student(replace(study, paper=PAPER), students)) if row["run"] == "more"]
    assert own["model"].startswith("+ Knowledge Distillation")
