"""How long trainings take is told from the clock of earlier ones, and plainly not at all without any."""

import json
from pathlib import Path

import pytest

from axenat.estimates import parameters_of
from axenat.files import write_json, write_lines, write_text, write_yaml
from axenat.preflight.duration import check_duration, earlier_trainings, estimate, seconds_of
from axenat.study import parse_study
from tests.studies import study

STUDY = parse_study(study(recipes__small__train={"steps": 100}))


def speed(folder: Path, *seconds: float) -> None:
    """Lines of ten steps each, and half a line."""
    lines = [json.dumps({"step": 10 * i, "seconds": value}) for i, value in enumerate(seconds, start=1)]
    write_text(folder / "checkpoints/speed.jsonl", "\n".join([*lines, '{"step": 9']))


def begin(results: Path, run: str, known=STUDY) -> Path:
    folder = results / "runs" / run
    write_yaml(folder / "config.yaml", known.section("runs", run, "config"))
    for side in ("source", "target"):
        write_lines(results / "corpora/demo/subwords" / f"vocab.{side}", map(str, range(500)))
    return folder


def test_without_an_earlier_training_nothing_is_made_up(tmp_path) -> None:
    begin(tmp_path, "ce")  # begun, but no line of speed yet
    found = check_duration(STUDY, tmp_path, tmp_path / "logs")
    assert found.level == "warning"
    assert found.words == "4 trainings; no earlier one is here to say how long they take"


def test_a_training_like_an_earlier_one_takes_as_long(tmp_path) -> None:
    speed(begin(tmp_path, "ce"), 20.0, 18.0, 19.0)  # 1.9 s a step
    (earlier,) = earlier_trainings(tmp_path, tmp_path / "logs")
    assert (earlier.objective, earlier.seconds) == ("masked", pytest.approx(190.0))
    parameters = earlier.work / (100 * STUDY.runs["ce"].train.tokens_per_step)
    assert estimate(STUDY.runs["ce"], parameters, [earlier]) == (pytest.approx(190.0), False)
    longer = parse_study(study(recipes__small__train={"steps": 300})).runs["ce"]
    assert estimate(longer, parameters, [earlier]) == (pytest.approx(570.0), False)


def test_its_own_kind_and_size_count_most(tmp_path) -> None:
    speed(begin(tmp_path, "ce"), 20.0)
    speed(begin(tmp_path, "axe-delta1"), 30.0)
    wide = parse_study(study(recipes__small__model={"width": 512, "heads": 2}, recipes__small__train={"steps": 100}))
    speed(begin(tmp_path, "teacher", wide), 900.0)
    earlier = list(earlier_trainings(tmp_path, tmp_path / "logs"))
    by_kind = {one.objective: one for one in earlier}
    parameters = by_kind["axe"].work / (100 * STUDY.runs["ce"].train.tokens_per_step)
    assert estimate(STUDY.runs["axe-delta2.5"], parameters, earlier)[0] == pytest.approx(300.0)
    assert estimate(STUDY.runs["ce"], parameters, earlier)[0] == pytest.approx(200.0)
    seconds, far = estimate(wide.runs["ce"], parameters_of(wide, "ce"), [by_kind["masked"]])
    assert far and seconds > 10 * 200.0


def test_a_resumed_training_counts_with_all_its_steps(tmp_path) -> None:
    folder = begin(tmp_path, "ce")
    speed(folder, 20.0)
    for measured, expected in ((50.0, 200.0), (260.0, 260.0)):  # of its last job alone; of all, with validations
        write_text(tmp_path / "logs/train/ce.tsv", f"s\th:m:s\n{measured}\t0:00:50\n")
        assert seconds_of(folder, 100, tmp_path / "logs") == pytest.approx(expected)


def test_what_is_trained_already_is_not_counted_again_unless_it_changed(tmp_path) -> None:
    for run in STUDY.runs:
        folder = begin(tmp_path, run)
        speed(folder, 36.0)
        write_json(folder / "best.json", {})
        write_json(folder / "provenance.json", {"device": "NVIDIA Tesla"})
    assert check_duration(STUDY, tmp_path, tmp_path / "logs").words == "all 4 runs are trained already"
    write_text(tmp_path / "logs/score/one.tsv", "s\n3600\n")
    changed = parse_study(study(recipes__small__train={"steps": 1000}))
    found = check_duration(changed, tmp_path, tmp_path / "logs")
    assert found.level == "ok"  # 3.6 s a step
    assert found.words.startswith("4 trainings, about 4.0 GPU-hours (from 4 earlier, on NVIDIA Tesla)")
    assert found.words.endswith("; other stages about 7.0 hours, if texts are as large as last time")
