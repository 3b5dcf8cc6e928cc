"""All that is sent to MLflow arrives, each once and in order, in calls that are no larger than MLflow takes."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from mlflow.utils.validation import MAX_METRICS_PER_BATCH, MAX_PARAMS_TAGS_PER_BATCH

from axenat.tracking import Point, StoredRun, Tracker

SIZES = [0, 1, 99, 100, 101, 250, 999, 1000, 1001, 2500]


class Calls:
    """A client that keeps what it is given."""

    def __init__(self) -> None:
        self.batches: list[dict[str, list[Any]]] = []

    def log_batch(self, run_id: str, **what: list[Any]) -> None:
        assert run_id == "r"
        self.batches.append({key: list(values) for key, values in what.items()})

    def all(self, kind: str) -> Iterator[Any]:
        return (one for batch in self.batches for one in batch.get(kind, []))


def sent(**what: Any) -> Calls:
    calls = Calls()
    Tracker.log(SimpleNamespace(client=calls), StoredRun("r", {}, 0), **what)  # type: ignore[arg-type]
    return calls


@pytest.mark.parametrize("size", SIZES)
def test_every_point_of_a_long_curve_arrives_once_and_in_order(size) -> None:
    points = [Point(f"valid/{number % 3}", number / 8, number, 5 * number) for number in range(size)]
    calls = sent(points=points)
    assert [Point(one.key, one.value, one.step, one.timestamp) for one in calls.all("metrics")] == points
    assert all(len(batch["metrics"]) <= MAX_METRICS_PER_BATCH for batch in calls.batches)


@pytest.mark.parametrize("size", [size for size in SIZES if size <= 250])
def test_every_parameter_arrives_once_and_in_order(size) -> None:
    params = {f"key{number}": number for number in range(size)}
    calls = sent(params=params)
    assert [(one.key, one.value) for one in calls.all("params")] == [(key, str(value)) for key, value in params.items()]
    assert all(len(batch["params"]) <= MAX_PARAMS_TAGS_PER_BATCH for batch in calls.batches)


def test_a_tag_that_says_what_was_sent_comes_after_it() -> None:
    points = [Point("valid/loss", 1.0, number, number) for number in range(1500)]
    calls = sent(points=points, params={"a": 1}, tags={"lines": 1500, "nothing": None})
    assert [[*batch] for batch in calls.batches] == [["params"], ["metrics"], ["metrics"], ["tags"]]
    assert [(one.key, one.value) for one in calls.all("tags")] == [("lines", "1500")]
