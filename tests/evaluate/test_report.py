import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from axenat.catalogue import CATALOGUE, FIGURE_NAMES, TABLE_NAMES
from axenat.evaluate.drawing import Drawing
from axenat.evaluate.report import (
    Surroundings,
    by_run,
    examples_side_by_side,
    inline_markdown,
    provenance_tables,
    render_machine,
    render_report,
)
from axenat.evaluate.report_items import ShownFigure, ShownTable
from axenat.evaluate.reproduction import Departure
from axenat.evaluate.study_figures import draw
from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.evaluate.study_tables import table_of
from axenat.evaluate.table_text import printed

Drawings = dict[str, Drawing]
SECTIONS = {"overview", "verdicts", "results", "tables", "training", "alignment", "examples", "data", "made", "card"}
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
AROUND = Surroundings(
    jobs={"train": 7, "report": 1},
    departures=[Departure(where="axenat/a.py, f", before="Half up.", what="it does <not> say.")],
    data={"outs": [{"path": "data", "md5": "77aa.dir", "nfiles": 3}]},
)


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
        names = ("src", "xlink:href", "data") if tag == "a" else ("src", "href", "xlink:href", "data")
        self.fetched += [values[name] or "" for name in names if name in values]

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


def tables_of(study: StudyRecord) -> list[ShownTable]:
    links = {"csv": "tables/x.csv"}
    return [ShownTable(name=name, table=printed(table_of(name, study)), links=links) for name in TABLE_NAMES]


def shown(drawings: Drawings) -> list[ShownFigure]:
    return [ShownFigure(drawing=drawing, link=f"figures/{name}.svg") for name, drawing in drawings.items()]


def drawn(study: StudyRecord) -> list[ShownFigure]:
    return shown({name: draw(name, study) for name in ("lengths", "confidence")})


@pytest.fixture(scope="module")
def page(study: StudyRecord, drawings: Drawings) -> str:
    return render_report(study, tables_of(study), shown(drawings), AROUND)


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


def test_the_page_has_every_table_and_every_figure_with_its_caption(page: str, study: StudyRecord) -> None:
    for table in tables_of(study):
        if table.name == "speed":  # a clock said it
            assert table.table.title not in page
            continue
        assert table.table.title in page
        assert inline_markdown(table.table.caption) in page
    for name in FIGURE_NAMES:
        assert inline_markdown(CATALOGUE[name].figure.caption).replace("'", "&#39;") in page
        assert f'href="figures/{name}.svg"' in page


def test_table_and_figure_of_an_item_stand_together(page: str) -> None:
    item = page[page.index('<section id="lengths">') :]
    item = item[: item.index("</section>")]
    assert item.count("<table") == item.count("<figure") == 1
    assert 'href="tables/x.csv"' in item and 'href="figures/lengths.svg"' in item


def test_the_page_tells_what_the_paper_found_and_whether_this_study_shows_it(page: str) -> None:
    assert "AXE is above cross entropy" in page and "5.2 on average" in page
    assert 'class="answer in-part">in part' in page and 'class="answer yes">yes' in page


def test_the_reproduction_card_has_departures_and_settings(page: str) -> None:
    card = page[page.index('id="card"') :]
    assert "<code>axenat/a.<wbr>py, f</code>" in card and "it does &lt;not&gt; say." in card
    steps = " ".join(re.sub("<[^>]+>", " ", card[card.index("train.<wbr>steps") :]).replace(". ", ".").split())
    assert steps.startswith("train.steps 300,000 1,500 (teacher) ; 3,500 (ce-raw, axe-raw-d1,")


def test_data_is_told_with_its_version(page: str) -> None:
    assert "77aa.dir" in page and "3 files" in page


def test_alignments_are_drawn_and_their_numbers_are_there_for_the_script(page: str, study: StudyRecord) -> None:
    data = re.search(r'id="alignment-data">(.*?)</script>', page)
    assert data
    records = json.loads(data[1])
    assert records == [*study.run("axe-raw-d2").alignments(), *study.run("axe-distilled-d2").alignments()]
    assert page.count('<div class="pair"') == len(records) == 4
    assert len(re.findall(r'data-target="\d', page)) == sum(len(record["targets"]) for record in records)


def test_the_page_tells_each_students_bleu_with_one_length_candidate(page: str) -> None:
    assert "<th>BLEU, ℓ = 1</th>" in page and "<td>58.50</td>" in page
    assert "the λ that was tuned for" in page


def test_the_page_says_what_a_table_misses(study: StudyRecord, drawings: Drawings) -> None:
    tables = tables_of(replace(study, scores=study.scores[1:]))
    missing = [note for shown_table in tables for note in shown_table.table.notes]
    page = render_report(study, tables, shown(drawings))
    missing = [note for note in missing if note.startswith("Missing")]
    assert missing and all(f'<p class="missing">{note}</p>' in page for note in missing)


def test_what_is_not_there_of_one_run_is_one_sentence() -> None:
    gone = [f"results/runs/{path}: no such file" for path in ("a/test/x.json", "b/tuned.json", "a/tuned.json")]
    damaged = "results/runs/a/history.jsonl: not valid"
    nothing = ["results/runs/c/x.json: no such file", "results/runs/c: no such folder; it has not begun"]
    assert by_run([gone[0], damaged, *gone[1:], *nothing, "results/x.json: no such file"]) == [
        "results/runs/a: no test/x.json, tuned.json",
        damaged,
        "results/runs/b: no tuned.json",
        nothing[1],
        "results/x.json: no such file",
    ]


def test_marks_of_a_table_become_html_and_its_text_is_escaped() -> None:
    assert inline_markdown("**9** `a|b` <c>") == "<strong>9</strong> <code>a|b</code> &lt;c&gt;"


def test_text_of_others_is_escaped(page: str) -> None:
    assert "buys a &lt;red&gt; car" in page
    assert "<red>" not in page and "<rotes>" not in page


def test_repeated_words_of_an_example_are_marked(page: str) -> None:
    assert "alte <mark>alte</mark> Mann" in page


def test_the_same_study_gives_the_same_page(page: str, study: StudyRecord, drawings: Drawings) -> None:
    assert page == render_report(study, tables_of(study), shown(drawings), AROUND)


def test_a_study_with_nothing_says_so_in_every_section() -> None:
    empty = StudyRecord(name="empty", missing=["results/summary.json: no such file"])
    page = render_report(empty)
    assert outline(page).ids >= SECTIONS
    for section in SECTIONS - {"overview", "verdicts"}:
        body = page[page.index(f'<section id="{section}">') :]
        assert 'class="missing"' in body[: body.index("</section>")], section
    assert page.count('class="answer cannot-be-told"') == 8
    assert "results/summary.json: no such file" in page


def rendered(study: StudyRecord, runs: list[RunRecord]) -> str:
    names = [run.name for run in runs]
    scores = [score for score in study.scores if score["run"] in names]
    smaller = replace(study, scores=scores, runs=runs, choices=[])
    page = render_report(smaller, tables_of(smaller), drawn(smaller))
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
    page = render_report(unscored, figures=drawn(unscored))
    assert "No scores" in page and "No comparison" in page


def test_examples_put_the_outputs_of_the_chosen_runs_under_one_source(study: StudyRecord) -> None:
    examples = examples_side_by_side(study)
    runs = ["teacher", "ce-raw", "axe-raw-d2", "ce-distilled", "axe-distilled-d2"]
    assert [[output["run"] for output in example["outputs"]] for example in examples] == [runs] * 3


def test_the_page_is_the_same_whatever_the_clock_says_and_the_host_is_called(study: StudyRecord) -> None:
    passing = {"host": "elsewhere", "processor": "elsewhere", "slurm_job": "7"}
    runs = [replace(run, provenance={**(run.provenance or {}), **passing}) for run in study.runs]
    other = replace(study, speed={}, runs=runs)
    pages = [render_report(one, tables_of(one), drawn(one)) for one in (study, other)]
    assert pages[0] == pages[1] and "elsewhere" not in pages[1]
    assert "0123abc" in pages[0] and "2.13.0" in pages[0]
    assert render_machine(study, tables_of(study)) != render_machine(other, tables_of(other))


def test_times_and_machines_have_a_page_of_their_own(study: StudyRecord) -> None:
    page = render_machine(study, tables_of(study))
    outline(page)
    speed = next(table.table for table in tables_of(study) if table.name == "speed")
    assert speed.rows[0][0] in page and "torch" in page
    lost = render_machine(StudyRecord(name="s", runs=[RunRecord(name="a")]))
    assert "No times" in lost and "No run has a provenance.json" in lost


def of_two_corpora(study: StudyRecord) -> StudyRecord:
    """The cross entropy run of the raw side moves to a corpus of its own, which has the same sources."""
    scores = [
        {**score, "corpus": "other", "num_sentences": 1, "num_references": 1} if score["run"] == "ce-raw" else score
        for score in study.scores
    ]
    return replace(study, scores=scores)


def test_examples_of_two_corpora_are_not_mixed(study: StudyRecord) -> None:
    found = [(example["corpus"], example["source"], len(example["outputs"]))
             for example in examples_side_by_side(of_two_corpora(study))]  # fmt: skip
    sources = [example["source"] for example in study.run("ce-raw").analyses[0]["examples"]]
    expected = [*(("demo", source, 4) for source in sources), *(("other", source, 1) for source in sources)]
    assert sorted(found) == sorted(expected)


def test_a_source_that_stands_twice_is_two_examples(study: StudyRecord) -> None:
    runs = [
        replace(run, analyses=[{**run.analyses[0], "examples": [run.analyses[0]["examples"][0]] * 2}])
        for run in study.runs
    ]
    assert [len(example["outputs"]) for example in examples_side_by_side(replace(study, runs=runs))] == [5, 5]


def test_every_test_set_is_told_with_its_own_size(study: StudyRecord, page: str) -> None:
    said = " ".join(page.split())
    assert "; the test set holds 500 sentences with 8 references each." in said
    said = " ".join(render_report(of_two_corpora(study)).split())
    assert "; the test set of demo holds 500 sentences with 8 references each" in said
    assert "; the test set of other holds 1 sentence with 1 reference each" in said


def test_what_all_runs_share_is_told_once_and_what_differs_by_run() -> None:
    runs = [RunRecord(name=name, provenance={"commit": "c", "soft": {"torch": "2"}, "s": name}) for name in "ab"]
    shared, different = provenance_tables(StudyRecord(name="s", runs=runs))
    assert shared == {"commit": "c", "soft.torch": "2"}
    assert different == {"s": {"a": "a", "b": "b"}}
