import pytest

from axenat.evaluate.figure_style import colours_of, family_of, to_svg
from axenat.evaluate.figures import learning_curves, side_slopes, system_bars


def test_a_token_that_looks_like_mathematics_is_drawn_as_it_is() -> None:
    history = [{"kind": "valid", "step": 1, "loss": 2.0}]
    svg = to_svg(learning_curves({"$x_1$": history}, {"$x_1$": "axe"}, "$ und $"))
    assert "$x_1$" in svg and "$ und $" in svg


def test_runs_of_an_objective_take_colours_of_its_family() -> None:
    colours = colours_of({"a": "axe", "b": "masked", "c": "axe", "d": "ctc"})
    assert colours["a"] == family_of("axe")[0] and colours["c"] == family_of("axe")[1]
    assert colours["b"] == family_of("masked")[0]
    assert set(colours) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("count", [1, 399, 400, 401, 5000])
def test_a_long_history_is_thinned_and_a_short_one_is_not(count: int) -> None:
    history = [{"kind": "train", "step": step, "loss": 1.0} for step in range(count)]
    (axes,) = learning_curves({"run": history}, {"run": "axe"}, "t").axes
    drawn = len(axes.lines[0].get_xdata())  # type: ignore[arg-type]
    assert drawn == count if count <= 400 else 200 <= drawn <= 400


def score(objective: str, bleu: float, **more: float) -> dict[str, object]:
    return {"objective": objective, "bleu": bleu, "split": "test", **more}


def test_a_bar_is_as_high_as_its_score_and_a_score_without_interval_is_drawn_too() -> None:
    groups = {"raw": [score("masked", 60.0), score("axe", 70.0, bleu_low=69.0, bleu_high=71.5)]}
    (axes,) = system_bars(groups, score("left_to_right", 90.0), "t").axes
    assert [bar.get_height() for bar in axes.patches] == [60.0, 70.0]  # type: ignore[attr-defined]


def test_a_slope_runs_from_the_raw_score_to_the_distilled_one() -> None:
    (axes,) = side_slopes({"axe": {"distilled": score("axe", 82.0), "raw": score("axe", 70.0)}}, "t").axes
    assert list(axes.lines[0].get_ydata()) == [70.0, 82.0]  # type: ignore[arg-type]
