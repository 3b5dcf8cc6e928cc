"""A table is made of the runs it shows and of no others, and says which kind of run it lacks."""

from pathlib import Path
from typing import Any

import pytest

from axenat import needs
from axenat.catalogue import CATALOGUE, FIGURE_NAMES, PAPER_ITEMS, TABLE_NAMES
from axenat.files import read_yaml
from axenat.study import Study, parse_study
from tests.studies import study

CONFIG = Path(__file__).parents[1] / "config"
ABLATION = {"recipe": "small", "objective": {"name": "axe", "observe": "none", "score": "all"}}
WMT = sorted(path.stem for path in CONFIG.glob("wmt*.yaml"))


def read(name: str) -> Study:
    return parse_study(read_yaml(CONFIG / f"{name}.yaml"))


def made(**changes: Any) -> Study:
    return parse_study(study(**changes))


def test_an_ablation_is_needed_by_the_table_of_objectives_alone_and_by_what_shows_all_runs() -> None:
    with_one = made(runs__odd=ABLATION)
    assert [table for table in TABLE_NAMES if "odd" in needs.runs_for(with_one, table)] == [
        "training_objectives", "speed", "decodings", "conventions", "seeds",
    ]  # fmt: skip


def test_the_penalty_table_needs_the_grid_and_nothing_else() -> None:
    assert needs.runs_for(made(), "skip_target_penalty") == ["axe-delta1", "axe-delta2.5"]
    assert needs.grids_for(made(), "skip_target_penalty") == ["axe"]


def test_no_table_needs_a_choice_among_runs_that_it_does_not_show() -> None:
    for table in TABLE_NAMES:
        for grid in needs.grids_for(made(), table):
            assert set(made().grids[grid].runs) & set(needs.runs_for(made(), table))


def test_a_figure_shows_the_runs_of_the_table_of_its_name_and_no_run_twice() -> None:
    for figure in FIGURE_NAMES:
        runs = needs.drawn_runs(made(), figure)
        assert len(set(runs)) == len(runs)
        if figure in TABLE_NAMES:
            assert set(runs) - {"teacher"} == set(needs.runs_for(made(), figure)) - {"teacher"}


def test_two_figures_show_the_teacher_where_students_learn_from_it() -> None:
    with_teachers = [name for name in FIGURE_NAMES if CATALOGUE[name].figure.with_teachers]
    assert with_teachers == ["axe_against_ce", "length_multiplier"]
    for figure in with_teachers:
        assert needs.drawn_runs(made(), figure)[0] == "teacher"
        assert "teacher" not in needs.drawn_runs(made(runs__ce__target_side="raw"), figure)


def test_only_tables_that_are_asked_for_are_told_to_lack_runs() -> None:
    single = made(runs__axe={"recipe": "small", "objective": {"name": "axe"}}, tables=["systems", "speed"])
    (sentence,) = needs.lacking_for(single, {"table6", "train"})
    assert sentence.startswith("table6 (skip_target_penalty) needs a grid in a run like axe")
    whole = made(tables=["systems", "speed"])
    told = list(needs.lacking_for(whole, {"tables"}))
    assert told == [f"table3 (systems) {sentence}" for sentence in needs.lacking(whole, "systems")] and told
    assert not list(needs.lacking_for(whole, {"all"}))


def test_a_study_without_the_other_objectives_is_told_the_keys_that_make_them() -> None:
    assert needs.lacking(made(), "training_objectives") == [
        "needs a run like axe with objective.observe: none and objective.score: all",
        "needs a run like axe with objective.score: all",
    ]


def test_what_is_like_the_missing_run_has_its_objective_if_any_run_has() -> None:
    assert "needs a run like ce with target_side: raw" in needs.lacking(made(), "target_sides")
    assert "needs a run like axe with target_side: distilled" in needs.lacking(made(), "axe_against_ce")


def test_a_study_without_a_grid_is_told_to_write_one() -> None:
    single = made(runs__axe={"recipe": "small", "objective": {"name": "axe"}})
    assert needs.lacking(single, "skip_target_penalty") == [
        "needs a grid in a run like axe, objective.skip_target_penalty: [1, 2, 3, 4, 5]"
    ]
    assert needs.runs_for(single, "skip_target_penalty") == []


def test_one_length_multiplier_is_no_table() -> None:
    (sentence,) = needs.lacking(made(recipes__small__decode={"length_multipliers": [1.0]}), "length_multiplier")
    assert "more than one value in decode.length_multipliers" in sentence


@pytest.mark.parametrize("name", ["wmt14-en-de", "wmt14-de-en"])
def test_the_studies_of_english_and_german_lack_nothing(name: str) -> None:
    """The paper's ablations are of this corpus: its studies plan them all."""
    whole = read(name)
    assert not [sentence for table in PAPER_ITEMS for sentence in needs.lacking(whole, table)]
    assert whole.tables == TABLE_NAMES
    multipliers = {run.decode.length_multipliers for run in whole.runs.values() if not run.system.teaches}
    assert multipliers == {tuple(round(1 + step / 100, 2) for step in range(11))}
    assert [grid.key for grid in whole.grids.values()] == ["skip_target_penalty"] * 2
    assert all(len(grid.runs) == 5 for grid in whole.grids.values())


def test_the_transformer_of_table_3_is_of_the_students_size() -> None:
    runs = read("wmt14-en-de").runs
    assert runs["base-raw"].model == runs["base-distilled"].model == runs["ce-distilled"].model != runs["teacher"].model
    runs = read("wmt16-en-ro").runs
    assert runs["teacher"].model == runs["ce-distilled"].model


@pytest.mark.parametrize("name", WMT)
def test_each_wmt_study_is_the_column_of_its_name(name: str) -> None:
    assert needs.paper_columns(read(name)) == {name: name}


@pytest.mark.parametrize("name", ["config", "tiny", "multi30k"])
def test_other_corpora_are_no_column_of_the_paper_and_say_which_they_stand_beside(name: str) -> None:
    assert needs.paper_columns(read(name)) == {} and read(name).published == "wmt14-en-de"


def test_speed_is_measured_of_a_teacher_a_ce_and_an_axe_run_in_all_their_decodings() -> None:
    found = needs.side_by_side(read("config"))
    assert found == [
        ("teacher", "beam5"), ("ce-distilled", "ell5"), ("ce-distilled", "ell1"), ("axe-distilled", "ell5"),
        ("axe-distilled", "ell1"),
    ]  # fmt: skip
    large = needs.side_by_side(read("wmt14-en-de"))
    assert {run for run, _ in large} == {"teacher", "ce-distilled", "axe-distilled-delta1"}
