import re
from xml.etree import ElementTree

import pytest

from axenat.evaluate.figure_style import FAMILIES, INK, colours_of, inline_svg, to_svg
from axenat.evaluate.figures import learning_curves
from axenat.evaluate.report_figures import Drawing, draw_all
from axenat.evaluate.study_record import StudyRecord

Drawings = dict[str, list[Drawing]]
SECTIONS = {"training", "tuning", "delta", "length", "repetition", "confidence", "alignment"}


def test_a_whole_study_has_a_figure_in_every_section(drawings: Drawings) -> None:
    assert set(drawings) == SECTIONS
    assert all(drawings.values())
    names = [drawing.name for drawn in drawings.values() for drawing in drawn]
    assert len(names) == len(set(names))
    for drawing in (drawing for drawn in drawings.values() for drawing in drawn):
        ElementTree.fromstring(drawing.svg)


def test_svg_is_the_same_bytes_each_time_and_carries_no_date(study: StudyRecord, drawings: Drawings) -> None:
    assert draw_all(study) == drawings
    assert not any("dc:date" in drawing.svg for drawn in drawings.values() for drawing in drawn)


def test_a_study_without_records_has_no_figures_and_no_crash() -> None:
    assert draw_all(StudyRecord(name="empty")) == {section: [] for section in SECTIONS}


def test_the_alignment_shows_every_target_every_top_token_and_the_cost(drawings: Drawings) -> None:
    svg = drawings["alignment"][0].svg
    for word in ("schmeckt", "ziemlich", "geschmack@@", "köstlich", "7.40", "12.99", "skip  2.12"):
        assert f">{word}" in svg or f"= {word}" in svg


def test_a_token_that_looks_like_mathematics_is_drawn_as_it_is() -> None:
    history = [{"kind": "valid", "step": 1, "loss": 2.0}]
    svg = to_svg(learning_curves({"$x_1$": history}, {"$x_1$": "axe"}, "$ und $"))
    assert "$x_1$" in svg and "$ und $" in svg


def test_runs_of_an_objective_take_colours_of_its_family() -> None:
    colours = colours_of({"a": "axe", "b": "masked", "c": "axe", "d": "ctc"})
    assert colours["a"] == FAMILIES["axe"][0] and colours["c"] == FAMILIES["axe"][1]
    assert colours["b"] == FAMILIES["masked"][0]
    assert set(colours) == {"a", "b", "c", "d"}


def test_figures_in_one_page_share_no_ids_and_take_the_colours_of_the_page(drawings: Drawings) -> None:
    flat = [drawing for drawn in drawings.values() for drawing in drawn]
    bodies = [inline_svg(drawing.svg, drawing.name, 'a "caption" <here>') for drawing in flat]
    ids = [found for body in bodies for found in re.findall(r'\bid="([^"]+)"', body)]
    assert len(ids) == len(set(ids))
    for body in bodies:
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', body)) <= set(ids)
        assert INK not in body and "var(--ink)" in body
        assert body.startswith('<svg role="img" aria-label="a &quot;caption&quot; &lt;here>"')


@pytest.mark.parametrize("count", [1, 399, 400, 401, 5000])
def test_a_long_history_is_thinned_and_a_short_one_is_not(count: int) -> None:
    history = [{"kind": "train", "step": step, "loss": 1.0} for step in range(count)]
    (axes,) = learning_curves({"run": history}, {"run": "axe"}, "t").axes
    drawn = len(axes.lines[0].get_xdata())  # type: ignore[arg-type]
    assert drawn == count if count <= 400 else 200 <= drawn <= 400
