"""The benchmark runs and reports what it promises; its figures are never tested, machines are noisy."""

import json

import pytest

from axenat.files import write_json, write_lines
from benchmarks import decoding
from tests import tiny

LINES = ["the old man buys a car", "a car", "the woman sees the red car today .", "the man"]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Untrained models; one thread, so that nothing is measured twice."""
    runs = {name: tiny.run_folder(tmp_path / name, kind) for name, kind in (("t", "left_to_right"), ("s", "axe"))}
    for folder in runs.values():
        write_json(folder / "tuned.json", {"value": 1.0})
    write_lines(tmp_path / "test.en", LINES)
    write_lines(tmp_path / "test.de", ["das rote Auto", "ein Auto", "die Frau", "der Mann"])
    monkeypatch.setattr(decoding, "in_fresh_process", lambda function, *arguments: function(*arguments))
    return ["--teacher", str(runs["t"]), "--student", str(runs["s"]), "--source", str(tmp_path / "test.en"),
            "--references", str(tmp_path / "test.de"), "--rounds", "1", "--threads", "1"]  # fmt: skip


def test_every_system_is_measured_and_every_limit_is_told(study, tmp_path, capsys) -> None:
    decoding.main([*study, "--json", str(tmp_path / "out.json"), "--plot", str(tmp_path / "out.svg")])
    written = json.loads((tmp_path / "out.json").read_text())
    systems = {(row["decode"], row["engine"], row["precision"]) for row in written["systems"]}
    assert systems == {*decoding.TEACHER, *decoding.STUDENT}
    for row in written["systems"]:
        assert row["sentences_per_second"] > 0 and row["latency_milliseconds"] > 0 and row["signature"]
        assert row["same_as_torch"] == 1 or row["precision"] == "int8"
    assert [row["name"] for row in written["ratios"]] == list(decoding.RATIOS)
    assert set(decoding.LIMITS["at_least"]) <= set(decoding.RATIOS)
    printed = capsys.readouterr().out
    assert "t beam5 ctranslate2 int8" in printed and ">= 5.0" in printed
    picture = (tmp_path / "out.svg").read_text()
    assert all(label in picture for label, _ in decoding.LABELS.values())


def test_a_ratio_says_how_many_times_faster_the_first_named_is() -> None:
    for name, (_, fast, slow) in decoding.RATIOS.items():
        first, second = name.split(": ", 1)[1].split(" : ")
        assert fast.split()[1] in first
        assert slow.split()[1] in second or fast.split()[0] == slow.split()[0]


def test_an_engine_that_is_missing_is_left_out_and_said(study, monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setattr("axenat.decode.engines.find_spec", lambda package: None)
    decoding.main([*study, "--json", str(tmp_path / "out.json")])
    assert {row["engine"] for row in json.loads((tmp_path / "out.json").read_text())["systems"]} == {"torch"}
    assert "beam5 ctranslate2 float32: decode.engine ctranslate2 needs ctranslate2" in capsys.readouterr().out


def test_without_a_study_it_says_what_to_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="results/runs/teacher is missing; run make demo, or name other runs"):
        decoding.main(["--rounds", "1"])
