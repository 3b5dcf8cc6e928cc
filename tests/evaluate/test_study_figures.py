from dataclasses import replace
from xml.etree import ElementTree

import pytest

from axenat.catalogue import CATALOGUE, FIGURE_NAMES
from axenat.evaluate.comparisons import mark_chosen
from axenat.evaluate.drawing import Drawing
from axenat.evaluate.study_figures import draw
from axenat.evaluate.study_record import RunRecord, StudyRecord

Drawings = dict[str, Drawing]


def test_a_whole_study_has_panels_in_every_figure_and_misses_nothing(drawings: Drawings) -> None:
    for drawing in drawings.values():
        assert drawing.panels and not drawing.notes, drawing.name


def test_a_grid_a_side_and_a_length_are_panels_of_one_figure(drawings: Drawings) -> None:
    panels = {name: len(drawing.panels) for name, drawing in drawings.items()}
    assert panels["confidence"] == 4  # short and long, raw and distilled
    assert panels["skip_target_penalty"] == panels["lengths"] == panels["alignment"] == 2
    assert panels["axe_against_ce"] == panels["target_sides"] == panels["repetitions"] == 1
    assert panels["training"] == 5 and panels["length_multiplier"] == 3


def test_drawing_twice_gives_the_same(study: StudyRecord, drawings: Drawings) -> None:
    for name in ("axe_against_ce", "alignment"):
        assert draw(name, study) == drawings[name]


@pytest.mark.parametrize("name", FIGURE_NAMES)
def test_a_study_without_records_gives_words_instead_of_panels(name: str) -> None:
    drawing = draw(name, StudyRecord(name="empty"))
    assert not drawing.panels
    assert drawing.notes[0] == CATALOGUE[name].figure.otherwise


@pytest.mark.parametrize("name", FIGURE_NAMES)
def test_a_run_that_left_nothing_is_named_by_the_figures_that_would_show_it(study: StudyRecord, name: str) -> None:
    scores = [score for score in study.scores if score["run"] != "ce-raw"]
    runs = [RunRecord(name="ce-raw") if run.name == "ce-raw" else run for run in study.runs]
    drawing = draw(name, replace(study, scores=scores, runs=runs))
    assert drawing.panels
    told = any("ce-raw" in note for note in drawing.notes)
    assert told == (name not in ("skip_target_penalty", "alignment"))  # these show AXE alone


def test_position_confidence_is_dashed_blue_for_ce_and_solid_red_for_axe(drawings: Drawings) -> None:
    for panel in drawings["confidence"].panels:
        root = ElementTree.fromstring(panel.replace("xlink:", ""))
        styles = [path.get("style", "") for path in root.iter("path")]
        assert any("#2f7fc1" in style and "stroke-dasharray" in style for style in styles)
        assert any("#d6502b" in style and "stroke-dasharray" not in style for style in styles)


def test_an_ablation_never_stands_beside_cross_entropy(study: StudyRecord) -> None:
    score = {**next(score for score in study.scores if score["run"] == "axe-raw-d2"), "run": "axe-unobserved"}
    marked = mark_chosen([*study.scores, {**score, "ablation": True}], study.choices)
    assert len(draw("lengths", replace(study, scores=marked)).panels) == 2
    others = [one for one in marked if one["objective"] != "axe" or one["run"] == "axe-unobserved"]
    assert not draw("lengths", replace(study, scores=others)).panels


def test_the_alignment_shows_every_target_every_top_token_and_the_cost(drawings: Drawings) -> None:
    svg = drawings["alignment"].panels[0]
    for word in ("schmeckt", "ziemlich", "geschmack@@", "köstlich", "7.40", "12.99", "skip  2.12"):
        assert f">{word}" in svg or f"= {word}" in svg
