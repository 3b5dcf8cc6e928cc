"""An estimate is reliable if an earlier training had steps of a like size, and says so if none had."""

import pytest

from axenat.config import RunConfig
from axenat.estimates import work_of
from axenat.preflight import duration
from axenat.preflight.duration import FAR, Training, estimate
from axenat.study import parse_study
from tests.studies import study

STUDY = parse_study(study(recipes__small__train={"steps": 100}))
RUN = STUDY.runs["ce"]
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


@pytest.mark.parametrize("far", [None, *STUDY.runs])
def test_one_run_that_is_far_is_enough_for_a_warning_and_all_hours_are_added_up(tmp_path, monkeypatch, far) -> None:
    hours = {id(run): 2.0**number for number, run in enumerate(STUDY.runs.values())}
    odd = STUDY.runs.get(far)

    def estimated(run: RunConfig, *_: object) -> tuple[float, bool]:
        return 3600 * hours[id(run)], run is odd

    monkeypatch.setattr(duration, "earlier_trainings", lambda *_: [training(1)])
    monkeypatch.setattr(duration, "estimate", estimated)
    found = duration.check_duration(STUDY, tmp_path, tmp_path / "logs")
    assert found.level == ("warning" if far else "ok")
    assert f"about {sum(hours.values()):.1f} CPU-hours" in found.words
