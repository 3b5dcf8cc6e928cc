"""`axenat usage` as people use it: a table, sentences, and lines to paste."""

import shutil
from pathlib import Path

import pytest
import yaml

from axenat.cli import main
from axenat.files import read_json, write_text, write_yaml
from axenat.resources import resources_of
from tests.studies import study

ROOT = Path(__file__).parents[2]
BENCHMARK = "s\tmax_rss\tcpu_time\n{}\t{}\t9.0\n"


@pytest.fixture
def worked_in(tmp_path, monkeypatch) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")  # no Slurm
    return tmp_path


def test_a_table_and_lines_that_resources_takes(worked_in, capsys) -> None:
    for name, seconds, megabytes in (("train/teacher", 90, 600), ("train/ce-raw", 7200, 2900), ("score/a", 9, "NA")):
        write_text(worked_in / f"logs/{name}.tsv", BENCHMARK.format(seconds, megabytes))
    assert main(["usage", "--json", "usage.json"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["rule", "train_teacher", "train"]
    assert "1 benchmarks are half written" in out and "Slurm tells nothing here" in out
    pasted = yaml.safe_load(out[out.index("resources:") :])["resources"]
    assert pasted == {"train": {"mem_mb": 4500, "runtime": 240}}
    assert resources_of(pasted).ask("train", teacher=True).mem_mb == 4500
    written = read_json(worked_in / "usage.json")
    assert (written["resources"], written["passed_over"], written["jobs_in_slurm"]) == (pasted, 1, None)
    assert [row["rule"] for row in written["rules"]] == ["train_teacher", "train"]


def test_a_folder_where_nothing_ran_is_one_sentence(worked_in, capsys) -> None:
    assert main(["usage"]) == 2
    assert "no benchmarks; call this where Snakemake worked" in capsys.readouterr().err


def test_nothing_to_advise_is_said(worked_in, capsys) -> None:
    write_text(worked_in / "logs/train/ce-raw.tsv", BENCHMARK.format(3000, 900))
    assert main(["usage"]) == 0
    assert capsys.readouterr().out.endswith("What is asked for fits.\n")


@pytest.mark.parametrize("has_teacher", [False, True])
def test_only_rules_that_the_study_has_jobs_of_have_a_say(worked_in, has_teacher) -> None:
    """A teacher that has not run yet keeps what it asks for; where there is none, it asks for nothing."""
    without = {"corpora__demo__distil": None, "runs__ce__target_side": "raw", "runs__teacher": ...}
    values = study(resources={"size": "base"}, **({} if has_teacher else without))
    write_yaml(worked_in / "mine.yaml", values)
    write_text(worked_in / "logs/train/ce.tsv", BENCHMARK.format(60, 1000))
    write_text(worked_in / "logs/tune/ce.tsv", BENCHMARK.format(60, 1000))
    write_text(worked_in / "logs/score/a.tsv", BENCHMARK.format(60, 1000))
    assert main(["usage", "--configfile", "mine.yaml", "--json", "usage.json"]) == 0
    better = read_json(worked_in / "usage.json")["resources"]
    assert better.keys() == ({"score"} if has_teacher else {"train", "tune", "score"})
