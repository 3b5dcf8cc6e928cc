"""What is compared takes turns, and one slow round moves neither a median nor a ratio."""

from axenat.timing import interleaved, medians, ratio


def test_functions_take_turns_and_warm_up_uncounted() -> None:
    calls: list[str] = []
    seconds = interleaved({name: lambda name=name: calls.append(name) for name in ("a", "b")}, rounds=2, warm_up=1)
    assert calls == ["a", "b"] * 3
    assert {name: len(values) for name, values in seconds.items()} == {"a": 2, "b": 2}


def test_one_slow_round_is_outvoted() -> None:
    seconds = {"slow": [2.0, 2.0, 60.0], "fast": [1.0, 1.0, 30.0]}
    assert medians(seconds) == {"slow": 2.0, "fast": 1.0}
    assert ratio(seconds, "slow", "fast") == 2.0


def test_a_ratio_is_the_median_of_the_rounds_own() -> None:
    assert ratio({"a": [2.0, 30.0, 3.0], "b": [1.0, 10.0, 100.0]}, "a", "b") == 2.0
