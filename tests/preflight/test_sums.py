"""Estimates are sums over all runs, corpora and jobs, each with its own numbers, in the unit that they are told in."""

import json
import shutil
from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from axenat.estimates import parameters_of, space_of
from axenat.files import write_json, write_text, write_yaml
from axenat.jobs import jobs_of
from axenat.preflight import machine, space
from axenat.preflight.duration import check_duration
from axenat.study import parse_study
from tests.studies import study

# Models of three sizes, trained for different numbers of steps and of checkpoints.
VALUES = study(
    corpora__demo__grammar={"seed": 1, "train": 1000, "valid": 30, "test": 7},
    runs__teacher__model={"width": 32, "heads": 2},
    runs__teacher__train={"steps": 40, "keep_best": 7},
    runs__ce__model={"width": 24, "heads": 2},
    runs__ce__train={"steps": 100, "keep_best": 3},
)
STUDY = parse_study(VALUES)
BYTES = {run: 4 * parameters_of(STUDY, run) for run in STUDY.runs}


def test_room_for_models_is_that_of_all_that_is_kept_of_each_run() -> None:
    found = space_of(STUDY, {"own": 0})
    assert len(set(BYTES.values())) == 3, "or one could stand in for another"
    # The best checkpoints, their mean, and that once more in DVC's cache and in MLflow's registry.
    assert found.models == sum((STUDY.runs[run].train.keep_best + 3) * size for run, size in BYTES.items())
    # Two states with both moments of Adam, and one that is being written.
    assert found.in_training == {run: 9 * size for run, size in BYTES.items()}


def test_room_for_text_is_that_of_both_sides_of_every_pair_and_of_the_bytes_of_own_folders() -> None:
    found, more = (space_of(STUDY, {"own": size}).text for size in (0, 1234))
    references = 3
    pairs = 1000 + (30 + 7) * (references + 1)
    # Raw, clean, ids, and both of the teacher's target side; each once more in DVC's cache.
    assert (found, more - found) == (2 * 5 * 320 * pairs, 2 * 5 * 1234)


def test_what_lies_in_data_and_in_results_is_no_room_that_is_needed_again(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    usage, need = namedtuple("usage", "free"), space_of(STUDY, {"own": 0})
    for name, size in {"data/text": 3000, "results/runs/a/model": 5000, "logs/other": 70_000}.items():
        write_text(tmp_path / name, "x" * size)
    free = need.least - 8000
    for room, level in ((free - 1, "problem"), (free, "warning"), (need.most - 8000, "ok")):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, room=room: usage(room))
        assert space.check_space(STUDY, tmp_path).level == level


def test_own_folders_count_with_all_their_files(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = space.check_space(STUDY, tmp_path)
    for number, split in enumerate(("train", "valid", "test"), start=1):
        for side in ("en", "de"):
            write_text(tmp_path / f"texts/{split}.{side}", "x" * number * 1_000_000)
    after = space.check_space(STUDY, tmp_path)
    megabytes = [float(one.words.split("about ")[1].split(" MB")[0]) for one in (before, after)]
    assert megabytes[1] - megabytes[0] == pytest.approx(2 * 5 * 2 * (1 + 2 + 3), abs=0.2)


def test_memory_is_that_of_the_largest_model_with_gradient_and_two_moments(monkeypatch) -> None:
    largest = max(BYTES.values())
    assert BYTES[list(STUDY.runs)[-1]] < largest
    need = 4 * largest + 2**30  # torch itself takes a gigabyte
    for free, level in ((need - 1, "warning"), (need, "ok")):
        monkeypatch.setattr(machine, "_available", lambda free=free: free)
        found = {one.about: one for one in machine.check_machine(STUDY, elsewhere=False)}
        assert found["machine"].level == level
        assert f"about {need / 1e9:.1f} GB of memory" in found["machine"].words


def test_memory_that_is_available_is_in_bytes() -> None:
    assert machine._available() == pytest.approx(psutil.virtual_memory().available, rel=0.3)


def begin(results: Path, run: str, seconds_a_step: float) -> Path:
    folder = results / "runs" / run
    write_yaml(folder / "config.yaml", STUDY.section("runs", run, "config"))
    for side in ("source", "target"):
        write_text(results / f"corpora/demo/subwords/vocab.{side}", "a\n" * 500)
    lines = [json.dumps({"step": step, "seconds": 10 * seconds_a_step}) for step in (10, 20, 30)]
    write_text(folder / "checkpoints/speed.jsonl", "\n".join(lines) + "\n")
    return folder


def test_hours_are_those_of_all_trainings_that_wait_by_their_own_steps_and_sizes(tmp_path) -> None:
    """Each is like one that was measured: 40, 100 and twice 10 steps."""
    seconds_a_step = {"teacher": 900.0, "ce": 200.0, "axe-delta1": 1500.0, "axe-delta2.5": 1500.0}
    for run, seconds in seconds_a_step.items():
        begin(tmp_path, run, seconds)
    steps = {run: STUDY.runs[run].train.steps for run in STUDY.runs}
    assert sorted(steps.values()) == [10, 10, 40, 100]
    hours = {run: steps[run] * seconds_a_step[run] / 3600 for run in steps}
    words = check_duration(STUDY, tmp_path, tmp_path / "logs").words
    assert words.startswith(f"4 trainings, about {sum(hours.values()):,.1f} CPU-hours (from 4 earlier, on cpu)")
    write_json(tmp_path / "runs/ce/best.json", {})
    words = check_duration(STUDY, tmp_path, tmp_path / "logs").words
    assert words.startswith(f"3 trainings, about {sum(hours.values()) - hours['ce']:,.1f} CPU-hours")


def test_other_stages_take_the_mean_of_their_jobs_for_each_job_that_there_will_be(tmp_path) -> None:
    begin(tmp_path, "ce", 1.0)
    seconds = {"tune": [3000.0, 5000.0], "score": [7000.0], "distil": [90_000.0], "train": [1e9]}
    for stage, all_of_them in seconds.items():
        for number, value in enumerate(all_of_them):
            write_text(tmp_path / f"logs/{stage}/{number}.tsv", f"s\th:m:s\n{value}\t0:0:0\n")
    (tmp_path / "logs/train/0.tsv").rename(tmp_path / "logs/train/of-another-study.tsv")
    jobs = jobs_of(STUDY)
    assert len({jobs["tune"], jobs["distil"]}) == 2
    expected = (jobs["tune"] * 4000 + jobs["score"] * 7000 + jobs["distil"] * 90_000) / 3600
    words = check_duration(STUDY, tmp_path, tmp_path / "logs").words
    assert f"other stages about {expected:,.1f} hours" in words
