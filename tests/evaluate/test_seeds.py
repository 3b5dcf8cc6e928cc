"""Repeats of a run: who belongs together, what their spread is, who is compared with whom."""

import statistics
from typing import Any

import pytest

from axenat.evaluate.comparisons import mark_chosen, pairs_to_compare
from axenat.evaluate.contrasts import all_pairs
from axenat.evaluate.seed_table import seeds
from axenat.evaluate.seeds import first_seeds, group_of, over_seeds
from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.evaluate.table_text import printed


def score(run: str, seed: int, bleu: float = 20.0, objective: str = "masked", **more: Any) -> dict[str, Any]:
    place = {"split": "test", "decode": "ell5", "corpus": "demo", "target_side": "raw", "signature": "s"}
    return {"run": run, "seed": seed, "objective": objective, "bleu": bleu, "repetition": bleu / 1000, **place, **more}


CE = [score(f"ce-seed{seed}", seed, bleu) for seed, bleu in ((1, 20.0), (2, 21.0), (3, 25.0))]
AXE = [score(f"axe-seed{seed}", seed, 30.0 + seed, "axe", skip_target_penalty=2) for seed in (2, 3, 4)]


@pytest.mark.parametrize(
    ("run", "seed", "group"),
    [
        ("ce-seed3", 3, "ce"),
        ("ce-seed3", 1, None),
        ("ce", 1, None),
        ("ce-seed1", 11, None),
        ("a-seed1-seed2", 2, "a-seed1"),
    ],
)
def test_a_repeat_is_named_after_its_own_seed(run: str, seed: int, group: str | None) -> None:
    assert group_of({"run": run, "seed": seed}) == group
    assert group_of({"run": run}) is None


def test_mean_and_deviation_by_hand() -> None:
    """20, 21 and 25: mean 22, squares 4 + 1 + 9, divided by two."""
    (record,) = over_seeds(CE)
    assert (record["group"], record["num_seeds"]) == ("ce", 3)
    assert record["runs"] == ["ce-seed1", "ce-seed2", "ce-seed3"]
    assert (record["split"], record["decode"], record["objective"]) == ("test", "ell5", "masked")
    assert record["bleu_mean"] == pytest.approx(22.0) and record["bleu_sd"] == pytest.approx(7**0.5)
    assert record["repetition_sd"] == pytest.approx(statistics.stdev([0.020, 0.021, 0.025]))


def test_the_order_of_scores_does_not_matter_and_what_differs_in_more_than_the_seed_stays_apart() -> None:
    assert over_seeds(CE[::-1]) == over_seeds(CE)
    other = [{**each, "decode": "ell1", "bleu": each["bleu"] - 5} for each in CE]
    assert [record["bleu_mean"] for record in over_seeds([*CE, *other])] == pytest.approx([22.0, 17.0])
    assert len(over_seeds([CE[0], {**CE[1], "signature": "t"}])) == 2


def test_what_some_repeats_lack_has_no_mean_and_one_alone_has_no_deviation() -> None:
    (record,) = over_seeds([{**CE[0], "valid_share": 0.5}, CE[1]])
    assert record["valid_share_mean"] is None and record["bleu_mean"] == 20.5
    (alone,) = over_seeds(CE[:1])
    assert (alone["bleu_mean"], alone["bleu_sd"]) == (20.0, None)
    assert over_seeds([score("ce", 1)]) == []


def test_every_repeat_is_chosen() -> None:
    assert all(each["chosen"] for each in mark_chosen([*CE, *AXE], []))


def pairs(*scores: dict[str, Any]) -> list[tuple[str, str]]:
    return [(a["run"], b["run"]) for a, b in pairs_to_compare(mark_chosen(scores, []))]


def test_repeats_are_compared_seed_by_seed() -> None:
    assert pairs(*CE, *AXE) == [("axe-seed2", "ce-seed2"), ("axe-seed3", "ce-seed3")]


def test_a_run_that_stands_alone_is_compared_with_each_repeat() -> None:
    assert pairs(score("ce", 9), *AXE) == [(each["run"], "ce") for each in AXE]
    assert pairs(*CE, score("axe", 9, objective="axe")) == [("axe", each["run"]) for each in CE]


def test_the_least_seed_stands_for_all_and_runs_alone_for_themselves() -> None:
    alone = score("teacher", 1)
    assert [each["run"] for each in first_seeds([*AXE[::-1], alone, *CE])] == ["axe-seed2", "teacher", "ce-seed1"]


def test_the_table_shows_mean_and_deviation_of_test_and_names_all_runs() -> None:
    valid = [{**each, "split": "valid"} for each in CE]
    table = seeds(StudyRecord(name="demo", scores=[*CE, *valid, *AXE]))
    assert [row["group"] for row in table.rows] == ["ce", "axe"]
    rows = printed(table).rows
    assert "22.00 ± 2.65" in rows[0] and "2.20% ± 0.26%" in rows[0]
    assert "ce-seed1 ce-seed2 ce-seed3" in rows[0]
    assert "Signature: `s`" in table.caption


def test_pictures_and_examples_show_the_least_seed_of_each_run() -> None:
    places = [
        RunRecord(
            name=each["run"],
            config={
                "corpus": each["corpus"],
                "target_side": each["target_side"],
                "objective": {"name": each["objective"]},
            },
        )
        for each in (*CE, *AXE)
    ]
    study = StudyRecord(name="demo", runs=places, scores=mark_chosen([*CE, *AXE], []))
    assert [each["run"] for each in study.shown()] == ["ce-seed1", "axe-seed2"]
    assert [(a["run"], b["run"]) for a, b in all_pairs(study)] == [
        ("axe-seed2", "ce-seed2")
    ]  # the first that both have
