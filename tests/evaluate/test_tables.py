import csv
import io
from typing import Any

import pytest

from axenat.evaluate.comparisons import compare, mark_chosen, pairs_to_compare
from axenat.evaluate.tables import comparison_line, signatures, to_csv, to_html, to_markdown, to_terminal
from axenat.files import UserError

Records = list[dict[str, Any]]


@pytest.fixture
def summary(scores: Records, comparisons: Records) -> dict[str, Any]:
    return {"study": "demo", "scores": scores, "comparisons": comparisons}


def test_every_run_stands_in_every_form_of_the_table(summary: dict[str, Any]) -> None:
    for text in (
        to_markdown(summary),
        to_csv(summary["scores"]),
        to_html(summary["scores"]),
        to_terminal(summary),
    ):
        for score in summary["scores"]:
            assert score["run"] in text


def test_csv_keeps_full_precision_and_markdown_rounds(summary: dict[str, Any]) -> None:
    summary["scores"][0]["bleu"] = 89.123456789
    rows = list(csv.DictReader(io.StringIO(to_csv(summary["scores"]))))
    assert float(rows[0]["bleu"]) == 89.123456789
    assert len(rows) == len(summary["scores"])
    assert "| 89.12 |" in to_markdown(summary)


def test_each_score_is_followed_by_its_signature(summary: dict[str, Any]) -> None:
    signature = summary["scores"][0]["signature"]
    assert signatures(summary["scores"]) == [signature]
    summary["scores"][1]["signature"] = "nrefs:1|tok:none"
    assert "nrefs:1|tok:none (ce-raw)" in signatures(summary["scores"])
    assert signature in to_terminal(summary) and signature in to_markdown(summary)


def test_rows_of_a_markdown_table_have_the_same_number_of_cells(summary: dict[str, Any]) -> None:
    rows = [line for line in to_markdown(summary).splitlines() if line.startswith("|")]
    assert len({row.count("|") for row in rows}) == 1
    assert len(rows) == len(summary["scores"]) + 2


def test_test_comes_before_valid_and_the_teacher_before_its_students(summary: dict[str, Any]) -> None:
    valid = [{**score, "split": "valid"} for score in summary["scores"]]
    summary["scores"] = [*valid, *reversed(summary["scores"])]
    text = to_terminal(summary)
    assert text.index("test set") < text.index("valid set")
    assert text.index("teacher") < text.index("ce-raw") < text.index("axe-raw-d1") < text.index("ce-distilled")


def test_what_is_unknown_is_a_dash_and_html_is_escaped(scores: Records) -> None:
    scores = [{**scores[0], "run": "<b>", "valid_share": None, "bleu_low": None}]
    assert "&lt;b&gt;" in to_html(scores) and "<b>" not in to_html(scores)
    assert to_html(scores).count("<td>-</td>") == 4  # delta, lambda, interval, valid


def test_a_study_without_scores_has_an_empty_table() -> None:
    empty: dict[str, Any] = {"study": "demo", "scores": [], "comparisons": []}
    assert to_terminal(empty) == ""
    assert to_csv([]).startswith("split,run")
    assert "demo" in to_markdown(empty)


def test_a_comparison_says_direction_and_whether_it_is_significant(comparisons: Records) -> None:
    better, even = map(comparison_line, comparisons)
    assert "10.00 BLEU above ce-raw" in better and ", significant" in better
    assert "0.30 BLEU below ce-distilled" in even and "not significant" in even


def test_the_winner_of_a_grid_is_chosen_and_so_is_a_run_in_no_grid(scores: Records, choices: Records) -> None:
    marked = mark_chosen([{**score, "chosen": None} for score in scores], choices)
    chosen = {score["run"] for score in marked if score["chosen"]}
    assert chosen == {"teacher", "ce-raw", "axe-raw-d2", "ce-distilled", "axe-distilled-d2"}


def test_each_chosen_axe_run_meets_the_cross_entropy_run_of_its_side(scores: Records) -> None:
    valid = [{**score, "split": "valid"} for score in scores]
    pairs = [(a["run"], b["run"], a["split"]) for a, b in pairs_to_compare([*scores, *valid])]
    expected = [("axe-raw-d2", "ce-raw"), ("axe-distilled-d2", "ce-distilled")]
    assert pairs == [(a, b, split) for split in ("test", "valid") for a, b in expected]


def test_runs_scored_against_different_references_are_not_compared(scores: Records) -> None:
    a = {**scores[0], "references": ["one"], "hypothesis": "a"}
    with pytest.raises(UserError, match="different references"):
        compare(a, {**a, "references": ["two"]}, {})
