"""Published numbers beside ours: marked as such, and subtracted only where corpus and direction are the paper's."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from axenat.catalogue import PAPER_ITEMS
from axenat.evaluate.beside_paper import beside, likewise
from axenat.evaluate.paper import load_paper
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.study_tables import table_of
from axenat.evaluate.table_text import printed, to_csv
from axenat.presets import PRESETS

PAPER = load_paper(Path(__file__).parents[2] / "config" / "paper.yaml")
BLEU_TABLES = ("axe_against_ce", "systems", "target_sides")


def other(study: StudyRecord) -> StudyRecord:
    """A corpus of which the paper has nothing."""
    return replace(study, paper=PAPER, published="wmt14-de-en")


def own(study: StudyRecord) -> StudyRecord:
    """As if the corpus were the paper's own."""
    return replace(study, paper=PAPER, published="wmt14-en-de", paper_columns={"demo": "wmt14-de-en"})


def rows_of(name: str, study: StudyRecord) -> dict[str, dict[str, Any]]:
    return {row["run"]: dict(row) for row in table_of(name, study).rows}


@pytest.mark.parametrize("name", PAPER_ITEMS)
def test_beside_another_corpus_no_difference_is_taken_and_the_heading_says_so(name: str, study: StudyRecord) -> None:
    table = table_of(name, other(study))
    labels = printed(table).labels
    assert not [label for label in labels if label == "difference"]
    assert not any(row.get("published_difference") for row in table.rows)
    assert any("published" in label for label in labels) or any("published" in row["run"] for row in table.rows)
    if name != "confidence":
        assert any("WMT'14 DE-EN; " in note.replace(", tokenised BLEU", "") for note in table.notes)
        assert any("another corpus than demo" in note for note in table.notes)


@pytest.mark.parametrize("name", PAPER_ITEMS)
def test_without_the_papers_numbers_nothing_is_said_of_them(name: str, study: StudyRecord) -> None:
    table = table_of(name, study)
    assert "ublished" not in "".join([*printed(table).labels, *table.notes])


def test_what_the_paper_states_of_confidence_stands_beside_cross_entropy_and_long_sentences(study: StudyRecord) -> None:
    """On its own corpora it is of distilled data."""
    for made, sides in ((other(study), ["raw", "distilled"]), (own(study), ["distilled"])):
        rows = [row for row in table_of("confidence", made).rows if row["published"]]
        assert [(row["target_side"], row["size"], row["model"]) for row in rows] == [(s, "long", "CE") for s in sides]
        assert {(row["published"], row["published_to_peak"]) for row in rows} == {(0.14, 0.33)}


def in_one_convention(study: StudyRecord) -> StudyRecord:
    return replace(study, scores=[{**score, "conventions": None} for score in study.scores])


def test_on_the_papers_own_corpus_ours_less_published_is_the_difference(study: StudyRecord) -> None:
    study = in_one_convention(study)
    row = rows_of("axe_against_ce", own(study))["axe-distilled-d2"]
    assert row["published"] == 27.90 and row["published_difference"] == pytest.approx(row["bleu"] - 27.90)
    row = rows_of("skip_target_penalty", own(study))["axe-distilled-d2"]
    assert row["published"] == 27.77 and row["published_difference"] == pytest.approx(row["bleu"] - 27.77)
    assert row["skip_target_published"] == pytest.approx(0.1053)
    row = rows_of("repetitions", own(study))["ce-distilled"]
    assert row["published"] == pytest.approx(0.1231)
    assert row["published_difference"] == pytest.approx(row["repetition"] - 0.1231)


def test_numbers_of_distilled_data_do_not_stand_beside_raw_runs_of_the_same_corpus(study: StudyRecord) -> None:
    for name in ("axe_against_ce", "skip_target_penalty", "repetitions"):
        for run, row in rows_of(name, own(study)).items():
            assert row["published"] is None or "raw" not in run


def test_raw_and_distilled_data_have_the_numbers_of_their_own_tables(study: StudyRecord) -> None:
    rows = {row["model"]: row for row in table_of("target_sides", own(study)).rows}
    assert (rows["AXE"]["raw_published"], rows["AXE"]["distilled_published"]) == (24.90, 27.90)
    assert (rows["CE"]["raw_published"], rows["CE"]["distilled_published"]) == (None, 21.83)
    flow = next(row for model, row in rows.items() if model.startswith("FlowSeq"))
    assert flow["raw_published"] == 23.36 and flow["raw_run"] is None


def test_lengths_meet_in_equal_buckets_only(study: StudyRecord) -> None:
    rows = [row for row in table_of("lengths", own(study)).rows if row["target_side"] == "distilled"]
    assert [row["axe_published"] for row in rows] == [24.39, 27.86, 28.78, None]  # ours end at 30


def test_all_of_the_papers_multipliers_are_shown_beside_its_own_corpus(study: StudyRecord) -> None:
    rows = rows_of("length_multiplier", own(study))
    published = rows["published, WMT'14 DE-EN"]
    assert published["best"] == 1.06 and published["bleu_1.03"] == 27.81
    ours, less = rows["axe-distilled-d2"], rows["axe-distilled-d2 less published"]
    assert less["bleu_1.1"] == pytest.approx(ours["bleu_1.1"] - 27.49) and less["bleu_1.03"] is None
    assert [run for run in rows if "less" in run] == ["axe-distilled-d2 less published"]  # Table 7 is of nothing else
    assert "bleu_1.03" not in to_csv(table_of("length_multiplier", other(study)))


@pytest.mark.parametrize("name", BLEU_TABLES)
def test_every_system_of_the_paper_is_marked_as_published(name: str, study: StudyRecord) -> None:
    for row in table_of(name, own(study)).rows:
        runs = [row.get(key) for key in ("run", "raw_run", "distilled_run")]
        assert any(runs) or row["model"].endswith(", published")


def test_differences_are_taken_in_the_papers_own_scoring_and_another_one_is_told(study: StudyRecord) -> None:
    assert any(
        "sacreBLEU stands in" in note for note in table_of("axe_against_ce", own(in_one_convention(study))).notes
    )
    scored = {"tokenised": {"value": 30.0}, "sacrebleu": {"value": 29.0}}
    both = replace(own(study), scores=[{**score, "conventions": scored} for score in study.scores])
    table = table_of("axe_against_ce", both)
    assert rows_of("axe_against_ce", both)["ce-distilled"]["published_difference"] == pytest.approx(30.0 - 21.83)
    assert not any("stands in" in note for note in table.notes) and "as the paper scores" in printed(table).labels
    chinese = replace(both, paper_columns={"demo": "wmt17-en-zh"})
    assert likewise(chinese, chinese.scores[0]) == 29.0


def test_what_a_run_does_otherwise_than_the_paper_is_told_on_its_own_corpora(study: StudyRecord) -> None:
    train = {**PRESETS["base"]["train"], "steps": 100}
    runs = [replace(run, config={**(run.config or {}), "train": train}) for run in study.runs]
    notes = table_of("axe_against_ce", replace(own(study), runs=runs)).notes
    (note,) = [note for note in notes if "train." in note]
    assert note.startswith("Differs from the paper: train.steps is 100, not 300000 (ce-raw, ")
    assert not any("train." in note for note in table_of("axe_against_ce", replace(other(study), runs=runs)).notes)


def test_a_column_is_found_by_corpus_and_else_as_the_study_says(study: StudyRecord) -> None:
    found = beside(own(study), "demo"), beside(own(study), "another")
    assert [(column.name, column.same) for column in found if column] == [("wmt14-de-en", True), ("wmt14-en-de", False)]
