import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.evaluate.choose import choose_best, choose_run
from axenat.files import UserError


def tried(*pairs: tuple[float, float | None]) -> list[dict[str, float | None]]:
    return [{"value": value, "bleu": bleu} for value, bleu in pairs]


def test_the_highest_bleu_wins_and_ties_go_to_the_smallest_value() -> None:
    assert choose_best(tried((1.1, 20.0), (1.0, 20.0), (1.2, 20.5)))["value"] == 1.2
    assert choose_best(tried((1.1, 20.0), (1.05, 20.0), (1.0, 19.0)))["value"] == 1.05


@given(st.permutations(tried((1, 5.0), (2, 7.0), (3, 7.0), (4, None))))
def test_the_order_of_candidates_does_not_matter(candidates: list[dict[str, float | None]]) -> None:
    assert choose_best(candidates)["value"] == 2


def test_another_key_can_break_ties() -> None:
    candidates = [{"delta": 3, "bleu": 1.0}, {"delta": 2, "bleu": 1.0}]
    assert choose_best(candidates, "delta")["delta"] == 2


@pytest.mark.parametrize("candidates", [[], tried((1.0, None))])
def test_there_must_be_something_to_choose_from(candidates: list[dict[str, float | None]]) -> None:
    with pytest.raises(UserError, match="nothing to choose from"):
        choose_best(candidates)


def _config(delta: int) -> dict[str, object]:
    return {"run": f"d{delta}", "objective": {"name": "axe", "skip_target_penalty": delta}}


def _tuned(delta: int, best: float) -> dict[str, object]:
    return {
        "run": f"d{delta}",
        "key": "length_multiplier",
        "value": 1.1,
        "candidates": tried((1.0, 1.0), (1.1, best)),
    }


def test_each_run_of_a_grid_enters_with_its_tuned_score_whatever_the_order_of_files() -> None:
    choice = choose_run(
        "g",
        "skip_target_penalty",
        [_config(1), _config(2), _config(3)],
        [_tuned(3, 30.0), _tuned(1, 20.0), _tuned(2, 30.0)],
        [{"run": "d2", "skip_target_rate": 0.1}],
    )
    assert choice["chosen"] == "d2"
    assert [candidate["bleu"] for candidate in choice["candidates"]] == [20.0, 30.0, 30.0]
    assert [candidate["skip_target_rate"] for candidate in choice["candidates"]] == [None, 0.1, None]
    assert {candidate["length_multiplier"] for candidate in choice["candidates"]} == {1.1}


def test_a_grid_with_a_run_left_untuned_or_without_the_key_is_refused() -> None:
    with pytest.raises(UserError, match="d2 has no tuned"):
        choose_run("g", "skip_target_penalty", [_config(1), _config(2)], [_tuned(1, 2.0)], [])
    with pytest.raises(UserError, match="no key dropout"):
        choose_run("g", "dropout", [_config(1)], [_tuned(1, 2.0)], [])


def test_no_seed_is_chosen_over_another() -> None:
    with pytest.raises(UserError, match="seeds are repeats"):
        choose_run("g", "seed", [{"run": "d1", "seed": 1}], [_tuned(1, 2.0)], [])
