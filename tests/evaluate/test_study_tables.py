"""The tables of a study: what each shows, that nothing is lost on the way, and that gaps are told."""

import csv
import io
import json
import re
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.catalogue import TABLE_NAMES
from axenat.evaluate.comparisons import marked
from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.evaluate.study_tables import table_of
from axenat.evaluate.table_text import PrintedTable, printed, to_csv, to_markdown
from axenat.records import ConfigError, as_plain, build
from tests.reference.markdown_table import from_markdown

ITEMS = {
    "axe_against_ce": "Table 2", "systems": "Table 3", "target_sides": "Table 4", "training_objectives": "Table 5",
    "skip_target_penalty": "Table 6", "length_multiplier": "Table 7", "lengths": "Table 8", "confidence": "Figure 3",
    "repetitions": "Table 9",
}  # fmt: skip
EMPTY = StudyRecord(name="new", runs=[RunRecord(name="ce-raw"), RunRecord(name="axe-raw")])


def rows_of(name: str, study: StudyRecord) -> list[dict[str, Any]]:
    return [dict(row) for row in table_of(name, study).rows]


def without(study: StudyRecord, run: str) -> StudyRecord:
    """The same study before that run had left anything but its folder."""
    runs = [RunRecord(name=run) if record.name == run else record for record in study.runs]
    scores, decodings = ([one for one in all_ if one["run"] != run] for all_ in (study.scores, study.decodings))
    speed = {
        key: [one for one in value if one["run"] != run] if isinstance(value, list) else value
        for key, value in study.speed.items()
    }
    return replace(study, runs=runs, scores=scores, decodings=decodings, speed=speed)


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_the_caption_is_one_line_with_study_table_number_and_signature(name: str, study: StudyRecord) -> None:
    table = table_of(name, study)
    assert "\n" not in table.caption
    assert f"Study {study.name}" in table.caption
    assert f"(paper, {ITEMS[name]})" in table.caption if name in ITEMS else not re.search("Table|Figure", table.caption)
    keys = [key for column in table.columns for key in column.keys]
    assert (study.scores[0]["signature"] in table.caption) == any("bleu" in key for key in keys)


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_a_whole_study_misses_nothing(name: str, study: StudyRecord) -> None:
    table = table_of(name, study)
    assert table.rows and not [note for note in table.notes if note.startswith("Missing")]


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_a_printed_table_comes_back_from_its_json_and_from_its_markdown(name: str, study: StudyRecord) -> None:
    for records in (study, EMPTY):
        table = printed(table_of(name, records))
        assert from_json(table) == table
        assert from_markdown(to_markdown(table)) == asdict(table)


def from_json(table: PrintedTable) -> PrintedTable:
    """As the page reads what the stage has written."""
    return build(PrintedTable, json.loads(json.dumps(as_plain(table))), "table")


cells = st.text(st.characters(categories=["L", "N"], include_characters="|*` -"), max_size=8).map(str.strip)
grids = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=4))


@given(grids)
def test_any_cell_survives_json_and_markdown(grid: list[tuple[str, ...]]) -> None:
    numeric = tuple(place % 2 == 0 for place in range(len(grid[0])))
    table = PrintedTable(title="t", caption="c", labels=grid[0], numeric=numeric, rows=tuple(grid[1:]), notes=("n",))
    assert from_json(table) == table
    assert from_markdown(to_markdown(table)) == asdict(table)


def test_rows_and_labels_of_a_table_have_as_many_cells() -> None:
    for rows, numeric in (((("1",),), (True, False)), ((), (True,))):
        with pytest.raises(ConfigError, match="each row must have 2 cells"):
            PrintedTable(title="t", caption="c", labels=("a", "b"), numeric=numeric, rows=rows)


def test_a_table_of_another_name_is_refused_with_the_names_that_are_allowed(study: StudyRecord) -> None:
    with pytest.raises(ConfigError, match=r"a table must be one of axe_against_ce, systems, .* got 'training'"):
        table_of("training", study)


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_csv_holds_every_row_in_full_precision(name: str, study: StudyRecord) -> None:
    table = table_of(name, study)
    read = list(csv.DictReader(io.StringIO(to_csv(table))))
    for each, row in zip(read, table.rows, strict=True):
        assert each == {key: "" if row[key] is None else str(row[key]) for key in each}


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_a_study_that_has_not_begun_gets_a_table_that_says_so(name: str) -> None:
    table = table_of(name, EMPTY)
    assert not table.rows and table.notes


@pytest.mark.parametrize("name", TABLE_NAMES)
@pytest.mark.parametrize("run", ["ce-raw", "axe-raw-d2", "teacher"])
def test_a_missing_run_is_named_and_the_others_stay(name: str, run: str, study: StudyRecord) -> None:
    table = table_of(name, without(study, run))
    assert table.rows
    # Of the grid a choice knows all but what tuning measured; the teacher has no length multiplier and no delta.
    concerned = run in to_csv(table_of(name, study))
    assert any(run in note for note in table.notes) or not concerned


def test_target_sides_puts_raw_against_distilled_for_the_chosen_runs(study: StudyRecord) -> None:
    rows = {row["model"]: row for row in rows_of("target_sides", study)}
    bleu = {score["run"]: score["bleu"] for score in study.scores}
    assert list(rows) == ["left-to-right", "CE", "AXE"]
    axe = rows["AXE"]
    assert (axe["raw_run"], axe["distilled_run"]) == ("axe-raw-d2", "axe-distilled-d2")
    assert axe["difference"] == bleu["axe-distilled-d2"] - bleu["axe-raw-d2"]
    assert axe["raw_bleu_low"] <= axe["raw_bleu"] <= axe["raw_bleu_high"]
    assert rows["left-to-right"]["distilled_run"] is None and rows["left-to-right"]["difference"] is None


def test_the_penalty_table_has_each_grid_in_rising_order_with_one_choice(study: StudyRecord) -> None:
    rows = rows_of("skip_target_penalty", study)
    for choice in study.choices:
        grid = [row for row in rows if row["grid"] == choice["group"]]
        assert [row["skip_target_penalty"] for row in grid] == sorted(each["value"] for each in choice["candidates"])
        assert [row["run"] for row in grid if row["chosen"]] == [choice["chosen"]]
        assert all(row["skip_target_rate"] is not None and row["skip_prediction_rate"] is not None for row in grid)


def test_a_grid_over_another_key_is_not_in_the_penalty_table(study: StudyRecord) -> None:
    seeds = replace(study, choices=[{**choice, "key": "seed"} for choice in study.choices])
    assert rows_of("skip_target_penalty", seeds) == []


def test_a_missing_choice_is_named(study: StudyRecord) -> None:
    unfinished = replace(study, choices=study.choices[:1], missing=["Missing, choices/axe.json: no such file."])
    assert "Missing, choices/axe.json: no such file." in table_of("skip_target_penalty", unfinished).notes


def test_the_multiplier_table_has_every_run_but_the_teacher_and_marks_the_best(study: StudyRecord) -> None:
    table = table_of("length_multiplier", study)
    assert [row["run"] for row in table.rows] == [run.name for run in study.runs if run.objective != "left_to_right"]
    for cells in printed(table).rows:
        (best,) = [cell for cell in cells if cell.startswith("**")]
        assert float(best.strip("*")) == max(float(cell.strip("*")) for cell in cells[1:-1])


def test_runs_that_tried_different_multipliers_share_a_table(study: StudyRecord) -> None:
    first, *others = (run for run in study.runs if run.objective != "left_to_right")
    tuned = {**(first.tuned or {}), "value": 2.0, "candidates": [{"value": 2.0, "bleu": 50.0}]}
    rows = rows_of("length_multiplier", replace(study, runs=[replace(first, tuned=tuned), *others]))
    assert rows[0]["bleu_2"] == 50.0 and rows[0]["bleu_1.1"] is None and rows[1]["bleu_2"] is None


def test_lengths_shows_the_buckets_of_the_analyses_side_by_side(study: StudyRecord) -> None:
    rows = rows_of("lengths", study)
    for side in ("raw", "distilled"):
        here = [row for row in rows if row["target_side"] == side]
        trio = {"ce": f"ce-{side}", "axe": f"axe-{side}-d2", "teacher": "teacher"}
        for key, run in trio.items():
            analysis = study.run(run).analysis() or {}
            assert [row[f"{key}_run"] for row in here] == [run] * len(here)
            assert [row[f"{key}_bleu"] for row in here] == [bucket["bleu"] for bucket in analysis["buckets"]]
            assert [row["num_sentences"] for row in here] == [each["num_sentences"] for each in analysis["buckets"]]


def test_lengths_takes_only_analyses_of_test(study: StudyRecord) -> None:
    valid = [replace(run, analyses=[{**each, "split": "valid"} for each in run.analyses]) for run in study.runs]
    table = table_of("lengths", replace(study, runs=valid))
    assert not table.rows and "ce-raw" in table.notes[0]


def test_no_run_is_dropped_where_a_side_has_several_of_a_kind(study: StudyRecord) -> None:
    twin = replace(study.run("ce-raw"), name="ce-raw-again", config={**(study.run("ce-raw").config or {}), "seed": 8})
    score = next({**score, "run": twin.name} for score in study.scores if score["run"] == "ce-raw")
    both = {"scores": [*study.scores, score], "decodings": [*study.decodings, score]}
    wider = replace(study, runs=[*study.runs, twin], **both)
    for name in ("lengths", "target_sides", "repetitions", "length_multiplier", "decodings"):
        assert twin.name in to_csv(table_of(name, wider)), name


def test_repetitions_has_every_run_with_both_levels(study: StudyRecord) -> None:
    rows = {row["run"]: row for row in rows_of("repetitions", study)}
    assert rows.keys() == {score["run"] for score in study.scores}
    for score in study.scores:
        row = rows[score["run"]]
        assert (row["repetition"], row["repetition_words"]) == (score["repetition"], score["repetition_words"])
        assert row["chosen"] == score["chosen"]


def test_decodings_has_every_decoding_of_every_run_and_marks_the_one_it_is_tuned_for(study: StudyRecord) -> None:
    study = replace(study, decodings=[score for score in study.decodings if "seed" not in score["run"]])
    rows = rows_of("decodings", study)
    students = [score["run"] for score in study.scores if score["run"] != "teacher"]
    assert [row["decode"] for row in rows] == ["beam5", *["ell5", "ell1"] * len(students)]
    assert [row["run"] for row in rows] == ["teacher", *(run for run in students for _ in range(2))]
    assert [row["tuned"] for row in rows] == [row["decode"] != "ell1" for row in rows]
    bleu = {(score["run"], score["decode"]): score["bleu"] for score in study.decodings}
    assert {(row["run"], row["decode"]): row["bleu"] for row in rows} == bleu
    assert [row["num_length_candidates"] for row in rows[:3]] == [None, 5, 1]
    assert [cells[-2] for cells in printed(table_of("decodings", study)).rows] == ["torch, float32"] * len(rows)
    assert "tuned on valid" in table_of("decodings", study).caption


def test_a_decoding_of_which_nobody_wrote_down_the_engine_has_a_dash(study: StudyRecord) -> None:
    old = [{key: score[key] for key in score if key not in ("engine", "precision")} for score in study.decodings]
    table = printed(table_of("decodings", replace(study, decodings=old)))
    assert {cells[-2] for cells in table.rows} == {"-"}


def test_corpora_tells_what_is_kept_and_why_the_rest_is_not_beside_what_others_count(study: StudyRecord) -> None:
    train, valid = rows_of("corpora", study)
    assert train["kept"] + train["dropped_empty"] + train["dropped_too_long"] == train["pairs"] == 600 + 400
    assert (train["expected_pairs"], train["expected_kept"]) == (1010, 990)
    assert (valid["expected_pairs"], valid["expected_kept"]) == (30, None)
    notes = "\n".join(table_of("corpora", study).notes)
    for words in ("one 600, two 400", "2 lines are not UTF-8", "1,234 units lack one of", "somebody"):
        assert words in notes


def test_a_corpus_whose_origin_is_gone_is_named(study: StudyRecord) -> None:
    nameless = replace(study, corpora=[replace(study.corpora[0], origin={})])
    assert table_of("corpora", nameless).notes == ["Missing, origin of demo."]
    assert rows_of("corpora", nameless)[0]["expected_pairs"] is None


def test_what_the_study_lacks_is_said_below_any_table(study: StudyRecord) -> None:
    poorer = replace(study, lacking=["needs a run like ce-raw with target_side: sideways"])
    for name in TABLE_NAMES:
        assert (
            table_of(name, poorer).notes[-1]
            == "Missing: this table needs a run like ce-raw with target_side: sideways."
        )


def test_axe_stands_above_the_ce_run_of_its_own_side(study: StudyRecord) -> None:
    rows = {row["run"]: row for row in rows_of("axe_against_ce", study)}
    assert list(rows) == ["ce-raw", "axe-raw-d2", "ce-distilled", "axe-distilled-d2"]
    for side in ("raw", "distilled"):
        gain = rows[f"axe-{side}-d2"]["bleu"] - rows[f"ce-{side}"]["bleu"]
        assert rows[f"axe-{side}-d2"]["gain"] == gain and rows[f"ce-{side}"]["gain"] is None


def test_of_several_ce_runs_axe_stands_above_the_one_with_its_seed(study: StudyRecord) -> None:
    ce = next(score for score in study.scores if score["run"] == "ce-raw")
    scores = [{**score, "seed": 1} for score in study.scores] + [{**ce, "run": "ce-raw-again", "seed": 2, "bleu": 1.0}]
    gains = {row["run"]: row["gain"] for row in rows_of("axe_against_ce", replace(study, scores=scores))}
    assert gains["axe-raw-d2"] == 70.0 - ce["bleu"]


def test_students_beside_other_systems_are_the_distilled_ones(study: StudyRecord) -> None:
    assert {row["run"] for row in rows_of("systems", study)} == {"teacher", "ce-distilled", "axe-distilled-d2"}


def test_a_teacher_of_another_size_is_not_the_transformer_of_the_table(study: StudyRecord) -> None:
    large = replace(study.run("teacher"), config={**(study.run("teacher").config or {}), "model": {"width": 9}})
    runs = [large if run.name == "teacher" else run for run in study.runs]
    assert "teacher" not in {row["run"] for row in rows_of("systems", replace(study, runs=runs))}


def with_ablations(study: StudyRecord, side: str = "raw") -> StudyRecord:
    """The other two training objectives, at a delta that the grid has too."""
    twin, score = study.run(f"axe-{side}-d2"), next(one for one in study.scores if one["run"] == f"axe-{side}-d2")
    runs, scores = [], []
    for name, keys in {"unseen": {"observe": "none", "score": "all"}, "whole": {"score": "all"}}.items():
        config = {**(twin.config or {}), "objective": {**(twin.config or {})["objective"], **keys}}
        runs.append(replace(twin, name=name, config=config, tuned={**(twin.tuned or {}), "run": name}))
        scores.append({**score, "run": name, "ablation": True, "bleu": 99.0})
    return marked(replace(study, runs=[*study.runs, *runs], scores=[*study.scores, *scores]))


def test_the_three_objectives_are_compared_at_one_delta_in_the_order_of_the_paper(study: StudyRecord) -> None:
    rows = [row for row in rows_of("training_objectives", with_ablations(study)) if row["target_side"] == "raw"]
    assert [row["run"] for row in rows] == ["unseen", "whole", "axe-raw-d2"]
    assert [(row["observe"], row["score"]) for row in rows] == [
        ("unobserved", "all tokens"), ("partially observed", "all tokens"), ("partially observed", "only masks"),
    ]  # fmt: skip
    for row in rows:
        tuned = study.run("axe-raw-d2").tuned or {}
        assert row["bleu"] == next(tried["bleu"] for tried in tuned["candidates"] if tried["value"] == tuned["value"])


@pytest.mark.parametrize(
    "name", ["axe_against_ce", "systems", "target_sides", "length_multiplier", "lengths", "confidence"]
)
def test_an_ablation_however_good_changes_no_other_table(name: str, study: StudyRecord) -> None:
    assert rows_of(name, with_ablations(study, "distilled")) == rows_of(name, study)


def test_repeated_runs_stand_side_by_side_seed_by_seed(study: StudyRecord) -> None:
    repeated = [
        {**score, "run": f"{score['run']}-seed{seed}", "seed": seed}
        for score in study.scores
        for seed in (1, 2)
        if score["objective"] == "masked"
    ]
    rows = rows_of("target_sides", replace(study, scores=repeated, choices=[]))
    assert [(row["raw_run"], row["distilled_run"]) for row in rows] == [
        ("ce-raw-seed1", "ce-distilled-seed1"), ("ce-raw-seed2", "ce-distilled-seed2")
    ]  # fmt: skip


def test_confidence_has_both_lengths_of_both_models_and_what_lies_beside_the_peak(study: StudyRecord) -> None:
    rows = [row for row in rows_of("confidence", study) if row["target_side"] == "raw"]
    assert [(row["model"], row["size"]) for row in rows] == [
        ("CE", "short"), ("CE", "long"), ("AXE", "short"), ("AXE", "long"),
    ]  # fmt: skip
    assert rows[1]["at_0"] == 0.9 and rows[1]["at_-1"] == rows[1]["at_1"] == 0.3
    assert rows[1]["neighbour_to_peak"] == pytest.approx(1 / 3) and rows[3]["neighbour_to_peak"] < 0.1


def test_training_time_is_compared_within_a_shape_and_decoding_with_the_teacher(study: StudyRecord) -> None:
    rows = {row["run"]: row for row in rows_of("speed", study)}
    assert rows.keys() == {run.name for run in study.runs}
    assert rows["axe-raw-d1"]["time_to_ce"] == 1.25 and rows["ce-raw"]["time_to_ce"] is None
    assert rows["ce-distilled"]["batches_to_teacher"] == rows["ce-distilled"]["alone_to_teacher"] == 10.0
    wider = [{**one, "model": {"width": 9}} if one["objective"] == "axe" else one for one in study.speed["training"]]
    other = {row["run"]: row for row in rows_of("speed", replace(study, speed={**study.speed, "training": wider}))}
    assert other["axe-raw-d1"]["time_to_ce"] is None


def test_the_teacher_of_the_study_stands_beside_students_even_where_there_are_other_left_to_right_runs(
    study: StudyRecord,
) -> None:
    other = replace(study.run("teacher"), name="base-raw")
    rows = rows_of("lengths", replace(study, runs=[other, *study.runs], teachers=["teacher"]))
    assert {row["teacher_run"] for row in rows} == {"teacher"}
