import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from axenat.evaluate.report import examples_side_by_side, inline_markdown, provenance_tables, render_report
from axenat.evaluate.report_figures import Drawing, draw_all
from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.evaluate.study_tables import TABLES
from axenat.evaluate.table_text import PrintedTable, printed

Drawings = dict[str, list[Drawing]]
SECTIONS = {"overview", "results", "training", "lambda", "delta", "length"}
SECTIONS |= {"tables", "repetition", "confidence", "alignment", "examples", "made"}
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Ids, attributes that fetch something, and whether every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        assert tag != "script"
        self.fetched += [values[name] or "" for name in ("src", "href", "xlink:href", "data") if name in values]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def outline(page: str) -> Outline:
    parsed = Outline()
    parsed.feed(page)
    assert not parsed.open
    return parsed


def tables_of(study: StudyRecord) -> list[PrintedTable]:
    return [printed(make(study)) for make in TABLES.values()]


@pytest.fixture
def page(study: StudyRecord, drawings: Drawings) -> str:
    return render_report(study, drawings, tables_of(study))


def test_the_page_fetches_nothing(page: str) -> None:
    assert all(link.startswith("#") or link == "data:," for link in outline(page).fetched)
    assert not re.search(r"@import|url\((?!#)", page)


def test_the_page_has_every_section_and_every_run(page: str, study: StudyRecord) -> None:
    assert outline(page).ids >= SECTIONS
    for score in study.scores:
        assert score["run"] in page
        assert score["signature"] in page
    assert 'class="missing"' not in page


def test_the_note_and_the_comparisons_are_told(page: str, study: StudyRecord) -> None:
    assert study.note in page
    assert "axe-raw-d2 is 10.00 BLEU above ce-raw" in page


def test_the_page_has_every_table_with_its_caption(page: str, study: StudyRecord) -> None:
    for table in tables_of(study):
        assert f"<h3>{table.title}</h3>" in page
        assert inline_markdown(table.caption) in page


def test_the_page_tells_each_students_bleu_with_one_length_candidate(page: str) -> None:
    assert "<th>BLEU, ℓ = 1</th>" in page and "<td>58.50</td>" in page
    assert "the λ that was tuned for" in page


def test_the_page_says_what_a_table_misses(study: StudyRecord, drawings: Drawings) -> None:
    tables = tables_of(replace(study, scores=study.scores[1:]))
    missing = [note for table in tables for note in table.notes]
    page = render_report(study, drawings, tables)
    missing = [note for note in missing if note.startswith("Missing")]
    assert missing and all(f'<p class="missing">{note}</p>' in page for note in missing)


def test_marks_of_a_table_become_html_and_its_text_is_escaped() -> None:
    assert inline_markdown("**9** `a|b` <c>") == "<strong>9</strong> <code>a|b</code> &lt;c&gt;"


def test_text_of_others_is_escaped(page: str) -> None:
    assert "buys a &lt;red&gt; car" in page
    assert "<red>" not in page and "<rotes>" not in page


def test_repeated_words_of_an_example_are_marked(page: str) -> None:
    assert "alte <mark>alte</mark> Mann" in page


def test_the_same_study_gives_the_same_page(page: str, study: StudyRecord, drawings: Drawings) -> None:
    assert page == render_report(study, drawings, tables_of(study))


def test_a_study_with_nothing_says_so_in_every_section() -> None:
    empty = StudyRecord(name="empty", missing=["results/summary.json: no such file"])
    page = render_report(empty, draw_all(empty))
    assert outline(page).ids >= SECTIONS
    # Twice in two sections: results lack scores and comparisons, the making of lacks records and runs.
    assert page.count('class="missing"') == len(SECTIONS) + 2
    assert "results/summary.json: no such file" in page


def rendered(study: StudyRecord, runs: list[RunRecord]) -> str:
    names = [run.name for run in runs]
    scores = [score for score in study.scores if score["run"] in names]
    smaller = replace(study, scores=scores, runs=runs, choices=[])
    page = render_report(smaller, draw_all(smaller))
    outline(page)
    return page


@pytest.mark.parametrize("part", ["config", "history", "tuned", "provenance", "analyses"])
def test_the_report_survives_runs_that_miss_a_part(study: StudyRecord, part: str) -> None:
    missing = () if part in ("history", "analyses") else None
    rendered(study, [replace(study.run(name), **{part: missing}) for name in ("ce-raw", "axe-raw-d2")])


def test_the_report_survives_a_run_that_left_nothing(study: StudyRecord) -> None:
    page = rendered(study, [RunRecord(name="ce-raw"), study.run("axe-raw-d2")])
    assert "No BLEU by length" in page and "No position confidence" in page


def test_the_report_survives_a_study_that_has_runs_but_no_scores(study: StudyRecord) -> None:
    unscored = replace(study, scores=[], comparisons=[], choices=[], runs=study.runs[:2])
    page = render_report(unscored, draw_all(unscored))
    assert "No scores" in page and "No comparison" in page


def test_examples_put_the_outputs_of_the_chosen_runs_under_one_source(study: StudyRecord) -> None:
    examples = examples_side_by_side(study)
    runs = ["teacher", "ce-raw", "axe-raw-d2", "ce-distilled", "axe-distilled-d2"]
    assert [[output["run"] for output in example["outputs"]] for example in examples] == [runs] * 3


def test_what_all_runs_share_is_told_once_and_what_differs_by_run() -> None:
    runs = [RunRecord(name=name, provenance={"commit": "c", "soft": {"torch": "2"}, "s": name}) for name in "ab"]
    shared, different = provenance_tables(StudyRecord(name="s", runs=runs))
    assert shared == {"commit": "c", "soft.torch": "2"}
    assert different == {"s": {"a": "a", "b": "b"}}
