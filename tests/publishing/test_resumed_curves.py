"""A training that was resumed makes some steps once more; in its curves each step stands once."""

import pytest

from axenat.files import write_text
from axenat.publishing import training
from tests.publishing.made import as_while_it_trains, jsonl, make_run, valid


@pytest.mark.parametrize("lengths", [(3, 1, 3), (3, 1, 2, 4), (4, 2, 5, 3, 6)])
def test_a_step_that_was_made_more_than_once_is_one_point(folder, store, lengths) -> None:
    """Made later, it has another time, and would be another point to MLflow."""
    name = f"resumed-{'-'.join(map(str, lengths))}"
    place = make_run(folder / "results", name, [3.0])
    as_while_it_trains(place)
    times: list[float] = []
    for attempt, length in enumerate(lengths):
        times = [*times[:length], *(1e9 + 1000 * attempt + number for number in range(len(times), length))]
        steps = [10 * number for number in range(1, length + 1)]
        write_text(place / "checkpoints/history.jsonl", jsonl(*(valid(step, 100 / step) for step in steps)))
        speed = [
            {"step": step, "time": time, "seconds": 1.0, "tokens_per_second": 2.0 * step}
            for step, time in zip(steps, times, strict=True)
        ]
        write_text(place / "checkpoints/speed.jsonl", jsonl(*speed))
        training.send_training(store.tracker, place, {})
        seen = [10 * number for number in range(1, max(lengths[: attempt + 1]) + 1)]
        assert store.curve(name, "valid/loss") == [(step, 100 / step) for step in seen]
        assert store.curve(name, "speed/tokens_per_second") == [(step, 2.0 * step) for step in seen]
