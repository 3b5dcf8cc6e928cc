"""The learning rate rises in a straight line and falls with the square root of the step."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.train.schedule import START_LR, lr_at

rates = st.floats(1e-5, 1e-1)
warmups = st.integers(1, 10_000)


@given(rates, warmups)
def test_the_peak_is_at_the_end_of_the_warm_up_and_nowhere_else(peak, warmup) -> None:
    assert lr_at(warmup, peak_lr=peak, warmup_steps=warmup) == peak
    for step in (1, warmup // 2, warmup - 1, warmup + 1, 3 * warmup):
        if step >= 1 and step != warmup:
            assert START_LR < lr_at(step, peak_lr=peak, warmup_steps=warmup) < peak


@given(rates, st.integers(3, 10_000))
def test_the_warm_up_is_a_straight_line_from_almost_nothing(peak, warmup) -> None:
    one, two, three = (lr_at(step, peak_lr=peak, warmup_steps=warmup) for step in (warmup - 2, warmup - 1, warmup))
    assert two - one == pytest.approx(three - two, rel=1e-6)
    assert lr_at(0, peak_lr=peak, warmup_steps=warmup) == START_LR


@given(rates, warmups, st.integers(1, 100))
def test_four_times_the_steps_halve_the_rate(peak, warmup, factor) -> None:
    step = warmup * factor
    early, late = (lr_at(at, peak_lr=peak, warmup_steps=warmup) for at in (step, 4 * step))
    assert late == pytest.approx(early / 2)
    assert math.isclose(early, peak / math.sqrt(factor))
