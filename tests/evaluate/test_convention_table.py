"""The table of conventions: one column each, none without its signature, gaps where a language has none."""

from dataclasses import replace

from axenat.evaluate.convention_table import conventions
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.table_text import printed


def test_one_row_a_run_and_one_column_a_convention(study: StudyRecord) -> None:
    table = conventions(study)
    assert [row["run"] for row in table.rows] == [score["run"] for score in study.first_split()]
    assert printed(table).labels == ("run", "corpus", "sacreBLEU", "tokenised BLEU", "chosen")
    for row, score in zip(table.rows, study.first_split(), strict=True):
        assert (row["sacrebleu"], row["tokenised"]) == (score["bleu"], score["bleu"] + 1)
    for one in study.scores[0]["conventions"].values():
        assert one["signature"] in table.caption
        assert f"{one['label']}: {one['compared']}." in table.notes


def test_a_run_of_another_language_leaves_gaps(study: StudyRecord) -> None:
    first, *others = study.scores
    other = {**first, "conventions": {"ter": {**first["conventions"]["sacrebleu"], "label": "TER"}}}
    table = conventions(replace(study, scores=[other, *others]))
    rows = {row["run"]: row for row in table.rows}
    assert rows[first["run"]]["sacrebleu"] is None and rows[first["run"]]["ter"] is not None
    assert rows[others[0]["run"]]["ter"] is None


def test_scores_from_before_there_were_conventions_are_named_as_missing(study: StudyRecord) -> None:
    first, *others = study.scores
    old = {key: value for key, value in first.items() if key != "conventions"}
    table = conventions(replace(study, scores=[old, *others]))
    assert f"Missing, without scores in all conventions on test: {first['run']}." in table.notes
