"""What the clock said of a training: medians of its lines, and nothing where nothing was said."""

import pytest

from axenat.files import write_text
from axenat.train.speed import speed_of_lines, training_speed


def line(step: int, seconds: float, tokens: float = 100.0) -> dict[str, float]:
    return {"step": step, "seconds": seconds, "tokens_per_second": tokens}


def test_the_time_of_a_step_is_the_median_over_lines_of_as_many_steps_as_each_tells_of() -> None:
    found = speed_of_lines([line(10, 1.0), line(30, 4.0, 300.0), line(40, 50.0, 200.0)])
    assert found["step_milliseconds"] == pytest.approx(200.0)  # of 100, 200 and a pause of 5000
    assert found["tokens_per_second"] == 200.0


def test_a_half_written_line_and_a_missing_file_are_no_harm(tmp_path) -> None:
    assert training_speed(tmp_path) == {
        "tokens_per_second": None, "step_milliseconds": None, "num_lines": 0, "total_seconds": None,
    }  # fmt: skip
    text = '{"step": 10, "seconds": 2.0, "tokens_per_second": 5.0}\n{"step": 20, "sec'
    write_text(tmp_path / "checkpoints" / "speed.jsonl", text)
    assert training_speed(tmp_path)["step_milliseconds"] == pytest.approx(200.0)


@pytest.mark.parametrize(("text", "seconds"), [("s\th:m:s\n31.95\t0:00:31\n", 31.95), ("s\n", None), ("", None)])
def test_the_whole_time_is_what_snakemake_measured(tmp_path, text, seconds) -> None:
    write_text(tmp_path / "run.tsv", text)
    assert training_speed(tmp_path, tmp_path / "run.tsv")["total_seconds"] == seconds
