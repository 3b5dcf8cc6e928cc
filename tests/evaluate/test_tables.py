import csv
import io
from typing import Any

import pytest

from axenat.evaluate.comparisons import compare, mark_chosen, pairs_to_compare
from axenat.evaluate.decodings import SIZES, spelled_out, with_one_candidate
from axenat.evaluate.tables import (
    comparison_line,
    display_frame,
    signatures,
    to_csv,
    to_html,
    to_markdown,
    to_terminal,
)
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
    assert to_html(scores).count("<td>-</td>") == 5  # delta, lambda, interval, one length candidate, valid


def test_what_one_length_candidate_gives_stands_beside_each_student_and_a_dash_beside_the_teacher(
    scores: Records, decodings: Records
) -> None:
    shown = with_one_candidate(scores, decodings)
    assert [{**row, "bleu_one_candidate": 0} for row in shown] == [{**row, "bleu_one_candidate": 0} for row in scores]
    expected = [None if score["run"] == "teacher" else score["bleu"] - 1.5 for score in scores]
    assert [row["bleu_one_candidate"] for row in shown] == expected
    rows = display_frame(shown).set_index("run")["BLEU, ℓ = 1"]
    assert rows["teacher"] == "-" and rows["ce-raw"] == "58.50"
    text = to_terminal({"study": "demo", "scores": shown, "comparisons": []})
    assert "one length candidate, and the λ that was tuned for" in text


@pytest.mark.parametrize(
    ("own", "others", "bleu"),
    [
        ("ell5", ["ell1"], 1.0),
        ("ell1", [], 0.0),
        ("ell5", [], None),
        ("ell5-t4", ["ell1"], None),  # it would differ in two things at once
        ("ell5-t4", ["ell1", "ell1-t4"], 2.0),
        ("ell5", ["ell3", "ell1-t4"], None),
        ("beam5", ["beam1"], None),
        ("mine", ["ell1"], None),
    ],
)
def test_one_length_candidate_is_told_of_the_same_run_split_and_passes_alone(
    own: str, others: list[str], bleu: float | None
) -> None:
    place = {"run": "a", "split": "test"}
    rows = [{**place, "decode": name, "bleu": float(number)} for number, name in enumerate([own, *others])]
    strangers = [{**rows[0], "run": "b", "decode": "ell1"}, {**rows[0], "split": "valid", "decode": "ell1"}]
    (shown,) = with_one_candidate(rows[:1], [*rows, *strangers])
    assert shown["bleu_one_candidate"] == bleu


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("beam4", (4, None, None)), ("ell5", (None, 5, 1)), ("ell1-t10", (None, 1, 10)), ("mine", (None, None, None))],
)
def test_what_a_decoding_is_called_is_spelled_out(name: str, sizes: tuple[int | None, ...]) -> None:
    row = spelled_out({"decode": name, "bleu": 1.0})
    assert row == {"decode": name, "bleu": 1.0, **dict(zip(SIZES, sizes, strict=True))}


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
