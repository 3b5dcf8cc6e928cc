"""The report of a made-up study in a real browser, from disk: nothing is fetched, and the alignment view answers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from axenat.catalogue import TABLE_NAMES
from axenat.evaluate.drawing import Drawing
from axenat.evaluate.report import Surroundings, render_report
from axenat.evaluate.report_items import ShownFigure, ShownTable
from axenat.evaluate.reproduction import departures, package_texts
from axenat.evaluate.stage_graph import PLACES
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.study_tables import table_of
from axenat.evaluate.table_text import printed
from tests.browser import Visit, needs_browser, running, visiting

pytestmark = needs_browser
SECTIONS = ("overview", "verdicts", "results", "tables", "training", "alignment", "examples", "data", "made", "card")
WINDOWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
TOLD = ".pair:not([hidden]) .told"


@pytest.fixture(scope="module")
def path(study: StudyRecord, drawings: dict[str, Drawing], tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = [ShownTable(name=name, table=printed(table_of(name, study))) for name in TABLE_NAMES]
    figures = [ShownFigure(drawing=drawing) for drawing in drawings.values()]
    around = Surroundings(jobs=dict.fromkeys(PLACES, 12), departures=departures(package_texts()))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_report(study, tables, figures, around), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running() as browser:
        yield browser


@pytest.fixture
def visit(browser: Any, path: Path) -> Iterator[Visit]:
    with visiting(browser, path) as visit:
        yield visit


def test_every_section_is_visible_and_no_link_inside_the_page_is_broken(visit: Visit) -> None:
    for section in SECTIONS:
        assert visit.page.locator(f"#{section}").is_visible()
    broken = "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.querySelector(a.hash)).length"
    assert visit.page.evaluate(broken) == 0


def test_the_page_asks_for_nothing_but_itself_and_complains_of_nothing(visit: Visit, path: Path) -> None:
    for section in SECTIONS:
        visit.page.locator(f"#{section}").scroll_into_view_if_needed()
    assert visit.requests == [path.resolve().as_uri()]
    assert visit.complaints == []


@pytest.mark.parametrize(("width", "scheme"), WINDOWS)
def test_the_page_is_no_wider_than_the_window(browser: Any, path: Path, width: int, scheme: str) -> None:
    with visiting(browser, path, width, scheme) as visit:
        assert visit.overflow() == 0
        visit.page.locator("#alignment details summary").click()
        assert visit.overflow() == 0


def test_no_column_hides_at_the_width_of_a_desk(visit: Visit) -> None:
    """Tables scroll on a phone; here the last columns, which often matter most, must be seen. Fonts differ a little."""
    wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > 1.05 * e.clientWidth)"
    assert visit.page.evaluate(f"{wide}.map(e => e.ariaLabel)") == []


def test_a_long_word_does_not_widen_the_page(browser: Any, path: Path) -> None:
    """Names of runs and texts of others may be anything."""
    words = "document.querySelectorAll('p, dd, dt, li:not(.weave li, .bars li)')"
    with visiting(browser, path, 390) as visit:
        visit.page.evaluate(f"{words}.forEach(one => one.append('x'.repeat(80)))")
        assert visit.overflow() == 0


LUMINANCE = """([selector, property]) => {
  const [r, g, b] = getComputedStyle(document.querySelector(selector))[property].match(/\\d+/g).map(Number);
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_drawings_stand_out_from_the_ground(browser: Any, path: Path, scheme: str) -> None:
    with visiting(browser, path, scheme=scheme) as visit:
        ground = visit.page.evaluate(LUMINANCE, ["html", "backgroundColor"])
        assert (ground < 0.2) == (scheme == "dark")
        for selector, property in (
            ("p", "color"),
            (".stage text", "fill"),
            ("figure svg text", "fill"),
            (".yes", "color"),
        ):
            assert abs(ground - visit.page.evaluate(LUMINANCE, [selector, property])) > 0.3, selector


def test_a_target_under_the_mouse_shows_its_prediction_its_operator_and_its_cost(visit: Visit) -> None:
    visit.page.locator("#pair-0 [data-target='3']").hover()
    told = visit.page.locator(TOLD).inner_text()
    assert "Target 4: gut" in told and "align at prediction 4, cost 1.39" in told
    for token, share in (("lecker", "0.50"), ("gut", "0.25"), ("prima", "0.03")):
        assert token in told and share in told
    assert visit.page.locator("#pair-0 [data-prediction='3']").evaluate("e => e.classList.contains('lit')")
    assert visit.page.locator("#pair-0 .links path.lit").count() == 1


def test_a_skipped_target_and_a_skipped_prediction_are_told(visit: Visit) -> None:
    visit.page.locator("#pair-0 [data-target='2']").hover()
    assert "skip target at prediction 3, cost 7.40 with δ = 2" in visit.page.locator(TOLD).inner_text()
    assert "Blank ε here would cost 2.12" in visit.page.locator(TOLD).inner_text()
    skipped = visit.page.locator("#pair-0 [data-prediction='0']")
    assert "skipped, ε 2.12" in skipped.inner_text()
    skipped.hover()
    assert "Prediction 1 is skipped: skip prediction" in visit.page.locator(TOLD).inner_text()


def test_the_view_can_be_used_with_the_keyboard_alone(visit: Visit) -> None:
    visit.page.locator("#sentence").focus()
    visit.page.keyboard.press("Tab")
    assert "Target 1: es" in visit.page.locator(TOLD).inner_text()
    visit.page.keyboard.press("ArrowDown")
    assert "Target 2: schmeckt" in visit.page.locator(TOLD).inner_text()
    visit.page.keyboard.press("ArrowUp")
    visit.page.keyboard.press("ArrowUp")  # the first has none before it
    assert "Target 1: es" in visit.page.locator(TOLD).inner_text()
    for _ in range(5):
        visit.page.keyboard.press("Tab")
    assert "Prediction 1" in visit.page.locator(TOLD).inner_text()


def test_another_sentence_takes_the_place_of_the_first(visit: Visit) -> None:
    assert visit.page.locator(".pair:visible").count() == 1
    visit.page.locator("#sentence").select_option(index=1)
    assert visit.page.locator("#pair-1").is_visible() and not visit.page.locator("#pair-0").is_visible()
    assert "the other </script> pair" in visit.page.locator("#pair-1").inner_text()
    assert visit.complaints == []


def test_a_finger_is_as_good_as_a_mouse(browser: Any, path: Path) -> None:
    with visiting(browser, path, 390, touch=True) as visit:
        visit.page.locator("#pair-0 [data-target='4']").tap()
        assert ".: align at prediction 5, cost 0.70" in visit.page.locator(TOLD).inner_text()
        box = visit.page.locator(TOLD).bounding_box()
        assert box and box["y"] + box["height"] <= 800  # in the window, without scrolling
