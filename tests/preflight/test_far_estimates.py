"""An estimate is reliable if an earlier training had steps of a like size, and says so if none had."""

import pytest

from axenat.estimates import work_of
from axenat.preflight.duration import FAR, Training, estimate
from axenat.study import parse_study
from tests.studies import study

RUN = parse_study(study(recipes__small__train={"steps": 100})).runs["ce"]
PARAMETERS = 1_000_000
STEP = float(RUN.train.tokens_per_step) * PARAMETERS


def training(times: float, seconds: float = 50.0, objective: str = "masked") -> Training:
    """One with as much work in all, whose steps were so many times as large."""
    work = work_of(RUN, PARAMETERS)
    return Training(objective=objective, work=work, work_of_step=times * STEP, seconds=seconds, device="cpu")


@pytest.mark.parametrize("times", [1, 2, 3, 3.7, 4.4, 5, 10, 40, 100])
def test_an_estimate_is_far_if_steps_differ_by_more_than_the_factor_in_either_direction(times) -> None:
    for factor in (times, 1 / times):
        assert estimate(RUN, PARAMETERS, [training(factor)])[1] is (times > FAR)


@pytest.mark.parametrize("objective", ["masked", "axe"])
def test_of_several_the_nearest_in_size_tells_the_time_and_whether_it_is_far(objective) -> None:
    """Size counts before the objective."""
    near, far = training(2, 70.0, objective), training(20, 30.0)
    for earlier in ([near, far], [far, near]):
        assert estimate(RUN, PARAMETERS, earlier) == (pytest.approx(70.0), False)
