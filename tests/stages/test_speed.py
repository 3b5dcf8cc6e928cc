"""`axenat speed` tells of every training and of every system that it is given; its figures are never tested."""

import pytest

from axenat.cli import main
from axenat.files import read_json, write_json, write_lines, write_text
from tests import tiny

LINES = ["the old man buys a car", "a car", "the woman sees the red car today .", "the man"]


@pytest.fixture
def study(tmp_path):
    """Untrained models."""
    runs = {name: tiny.run_folder(tmp_path / name, kind) for name, kind in (("t", "left_to_right"), ("s", "axe"))}
    for folder in runs.values():
        write_json(folder / "tuned.json", {"value": 1.0})
    write_text(runs["s"] / "checkpoints/speed.jsonl", '{"step": 10, "seconds": 1.0, "tokens_per_second": 7.0}\n')
    write_text(tmp_path / "logs/s.tsv", "s\n12.5\n")
    write_lines(tmp_path / "test.en", LINES)
    return tmp_path


def speed(study, *models: str) -> int:
    folders = [str(study / "t"), str(study / "s")]
    texts = [str(study / "test.en")] * len(models)
    return main([
        "speed", "--runs", *folders, "--benchmarks", str(study / "logs"), "--models", *models, "--sources", *texts,
        "--rounds", "1", "--sentences", "3", "--out", str(study / "speed.json"), "--device", "cpu",
    ])  # fmt: skip


def test_trainings_and_decodings_are_told_with_what_they_were(study) -> None:
    assert speed(study, f"{study / 't'}:beam2", f"{study / 's'}", f"{study / 's'}:ell1") == 0
    written = read_json(study / "speed.json")
    teacher, student = written["training"]
    assert teacher["step_milliseconds"] is None and teacher["total_seconds"] is None
    assert (student["step_milliseconds"], student["total_seconds"]) == (100.0, 12.5)
    assert [row["decode"] for row in written["decoding"]] == ["beam2", "ell5", "ell1"]
    for row in written["decoding"]:
        assert row["num_sentences"] == 3 and row["engine"]
        assert row["sentences_per_second"] > 0 and row["latency_milliseconds"] > 0


def test_a_model_without_a_text_is_refused(study, capsys) -> None:
    texts = ["--models", str(study / "t"), "--out", str(study / "speed.json")]
    assert main(["speed", *texts]) == 2
    assert "1 models but 0 sources; each model needs its text" in capsys.readouterr().err
