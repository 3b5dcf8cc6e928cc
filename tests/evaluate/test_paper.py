"""The published numbers agree with one another and with what the paper says of them, and a spoilt file is refused."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from axenat.catalogue import PAPER_ITEMS
from axenat.config import PAPER_COLUMNS
from axenat.evaluate.paper import Paper, Values, load_paper
from axenat.files import UserError, read_yaml, write_yaml

FILE = Path(__file__).parents[2] / "config" / "paper.yaml"
GERMAN, FOUR = PAPER_COLUMNS[:2], PAPER_COLUMNS[:4]


@pytest.fixture(scope="module")
def paper() -> Paper:
    return load_paper(FILE)


def best(rows: Any) -> dict[str, float]:
    """What is bold: the highest value of each column."""
    return {column: max(row.bleu[column] for row in rows if column in row.bleu) for column in rows[-1].bleu}


def mean_gain(high: Values, low: Values) -> float:
    return fmean(high[column] - low[column] for column in low)


def test_every_item_of_the_paper_is_there(paper: Paper) -> None:
    for name in PAPER_ITEMS:
        assert getattr(paper, name), name


def test_axe_and_ce_have_the_same_score_in_every_table(paper: Paper) -> None:
    for system in ("ce", "axe"):
        whole = paper.bleu("axe_against_ce", system=system)
        assert set(whole) == set(PAPER_COLUMNS)
        assert paper.bleu("systems", system=system) == {column: whole[column] for column in FOUR}
    axe = paper.bleu("axe_against_ce", system="axe")
    distilled = paper.bleu("target_sides", system="axe", target_side="distilled")
    assert distilled == {column: axe[column] for column in FOUR}


def test_ctc_was_trained_on_raw_data_and_so_is_the_same_in_both_tables(paper: Paper) -> None:
    assert paper.bleu("systems", label="CTC Loss") == paper.bleu("target_sides", label="CTC Loss")


def test_axe_is_best_of_all_that_write_at_once(paper: Paper) -> None:
    at_once = [row for row in paper.systems if row.iterations == "1"]
    assert best(at_once) == paper.bleu("systems", system="axe")
    raw = [row for row in paper.target_sides if row.target_side == "raw"]
    assert best(raw) == paper.bleu("target_sides", system="axe", target_side="raw")


def test_the_three_ablations_meet_in_the_same_best_model(paper: Paper) -> None:
    tuned = best(paper.skip_target_penalty)
    assert set(tuned) == set(GERMAN)
    assert best(paper.training_objectives) == tuned == paper.bleu("training_objectives", observe="some", score="hidden")
    assert {column: best(paper.length_multiplier)[column] for column in GERMAN} == tuned


def test_grids_have_the_values_of_the_paper(paper: Paper) -> None:
    assert [row.value for row in paper.skip_target_penalty] == [1, 2, 3, 4, 5]
    assert [row.value for row in paper.length_multiplier] == [round(1 + step / 100, 2) for step in range(11)]
    bounds = [row.low for row in paper.lengths]
    assert [row.high for row in paper.lengths] == [*bounds[1:], None]


def test_fewer_targets_are_skipped_the_more_it_costs(paper: Paper) -> None:
    for column in GERMAN:
        rates = [(row.skip_target_percent or {})[column] for row in paper.skip_target_penalty]
        assert rates == sorted(rates, reverse=True)


def test_what_the_text_states_follows_from_the_tables(paper: Paper) -> None:
    ce, axe = (paper.bleu("axe_against_ce", system=system) for system in ("ce", "axe"))
    assert round(mean_gain(axe, ce), 1) == paper.stated.average_gain_over_ce
    assert round(max(axe[column] - ce[column] for column in ce), 2) == paper.stated.largest_gain_over_ce
    flow = paper.bleu("systems", label="FlowSeq")
    assert round(mean_gain(axe, flow), 1) == paper.stated.average_gain_over_flowseq
    first = paper.length_multiplier[0].bleu
    assert mean_gain(best(paper.length_multiplier), first) == pytest.approx(
        paper.stated.average_gain_of_length_multiplier, abs=0.005
    )
    repeated = {row.system: row.percent for row in paper.repetitions}
    for column in GERMAN:
        assert round(repeated["ce"][column] / repeated["axe"][column]) == paper.stated.repetition_factor


def test_only_english_to_chinese_was_scored_on_plain_text_and_tells_its_signature(paper: Paper) -> None:
    assert [name for name, column in paper.columns.items() if column.bleu == "sacrebleu"] == ["wmt17-en-zh"]
    assert "tok.zh" in paper.columns["wmt17-en-zh"].signature


def test_every_number_stands_under_a_column_of_the_paper(paper: Paper) -> None:
    found = list(paper.values())
    assert {column for _, column, _ in found} == set(PAPER_COLUMNS)
    assert len(found) == 12 + 40 + 18 + 6 + 20 + 44 + 24 + 4


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"stated": None}, r"paper\.yaml\.stated must be a mapping"),
        ({"lengths": [{"low": 9, "high": 9, "ce": {}, "axe": {}}]}, r"lengths: high must be >= 10, got 9"),
        ({"repetitions": [{"system": "ctc", "percent": {}}]}, "system must be one of base, base_dis"),
        (
            {"length_multiplier": [{"value": 1, "bleu": {"wmt15": 20.0}}]},
            "each column of bleu must be one of wmt14-en-de",
        ),
        ({"length_multiplier": [{"value": 1, "bleu": {"wmt14-en-de": 120.0}}]}, "must be from 0 to 100, got 120"),
        ({"columns": {}}, "columns must be wmt14-en-de, "),
        ({"systems": [{"label": "x", "bleu": {"wmt14-en-de": "27,61"}}]}, "must be a number, got the text '27,61'"),
        ({"table3": []}, "table3 is not a known key"),
    ],
)
def test_a_spoilt_file_is_refused_in_one_sentence(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    write_yaml(tmp_path / "paper.yaml", read_yaml(FILE) | change)
    with pytest.raises(UserError, match=sentence):
        load_paper(tmp_path / "paper.yaml")
