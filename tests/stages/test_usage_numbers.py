"""`axenat usage` counts what was asked for and what was used, each by its own rule and in its own unit."""

import re
import shutil
from pathlib import Path

import pytest

from axenat.cli import main
from axenat.files import read_json, write_text, write_yaml
from tests.stand_in import stand_in

ROOT = Path(__file__).parents[2]
BENCHMARK_OF_ALL = "s\tmax_rss\tcpu_time\n{}\t{}\t{}\n"


@pytest.fixture
def worked_in(tmp_path, monkeypatch) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")  # no Slurm
    return tmp_path


MEASURED = {
    "train/teacher": (4000.0, 5100.0, 3000.0),
    "train/ce-raw": (9000.0, 700.0, 1000.0),
    "train/axe-raw": (600.0, 6300.0, 450.0),
    "score/one": (70.0, 411.0, 35.0),
    "score/two": (50.0, 433.0, 45.0),
}  # seconds, megabytes, seconds of processors


def test_what_was_asked_for_and_what_was_used_stand_in_their_own_columns(worked_in, capsys) -> None:
    for name, values in MEASURED.items():
        write_text(worked_in / f"logs/{name}.tsv", BENCHMARK_OF_ALL.format(*values))
    site = {
        "resources": {"train": {"mem_mb": 8100, "runtime": 111}, "score": {"mem_mb": 950, "runtime": 17, "cpus": 2}}
    }
    write_yaml(worked_in / "config/site.yaml", site)
    assert main(["usage", "--json", "usage.json"]) == 0
    rows = {row["rule"]: row for row in read_json(worked_in / "usage.json")["rules"]}
    jobs = {
        "train_teacher": [MEASURED["train/teacher"]],
        "train": [MEASURED["train/ce-raw"], MEASURED["train/axe-raw"]],
        "score": [MEASURED["score/one"], MEASURED["score/two"]],
    }
    assert rows.keys() == jobs.keys()
    for rule, values in jobs.items():
        seconds, megabytes, busy = zip(*values, strict=True)
        row = rows[rule]
        asked = site["resources"][rule.removesuffix("_teacher")]
        assert {key: row["ask"][key] for key in asked} == asked
        assert (row["jobs"], row["seconds"], row["mem_mb"]) == (len(values), max(seconds), max(megabytes))
        assert row["hours"] == pytest.approx(sum(seconds) / 3600)
        assert row["cpu_hours"] == pytest.approx(sum(busy) / 3600)
        assert row["load"] == pytest.approx(sum(busy) / sum(seconds))
        assert row["gpu_hours"] == 0
    heads, *lines = (re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().out.splitlines()[:4])
    table = {line[0]: dict(zip(heads, line, strict=True)) for line in lines}
    assert table["train"] | {"better": ""} == {
        "rule": "train", "jobs": "2", "MB asked": "8100", "used": "6300", "better": "",
        "minutes asked": "111", "longest": "2.5 h", "cores": "1", "at work": "0.2",
    }  # fmt: skip
    assert (table["score"]["MB asked"], table["score"]["used"], table["score"]["cores"]) == ("950", "433", "2")


def test_limits_of_the_site_bound_what_is_suggested_each_its_own(worked_in) -> None:
    write_text(worked_in / "logs/train/ce-raw.tsv", BENCHMARK_OF_ALL.format(36_000, 30_000, 900))
    write_yaml(worked_in / "config/site.yaml", {"most_runtime": 777, "most_mem_mb": 12_345})
    assert main(["usage", "--json", "usage.json"]) == 0
    assert read_json(worked_in / "usage.json")["resources"] == {"train": {"mem_mb": 12_345, "runtime": 777}}


# Of the workflow `this`, and of another one.
SACCT = """
account = {
    '--name=this': '''
7|rule_train_wildcards_ce-raw|COMPLETED|01:00:00|00:24:00|||cpu=1,gres/gpu=2,mem=8000M,node=1
7.0||COMPLETED|01:00:00|00:24:00|1|3000.00M|cpu=1
8||COMPLETED|00:10:00|00:05:00|||cpu=1,mem=2000M,node=1
8.0||COMPLETED|00:10:00|00:05:00|1|500.00M|cpu=1
''',
    '--name=other': 'nonsense',
}
sys.stdout.write(''.join(account.get(word, '') for word in words))
"""


def test_what_slurm_tells_of_this_workflow_is_counted_by_rule(worked_in, monkeypatch) -> None:
    stand_in(worked_in / "bin", "sacct", SACCT)
    monkeypatch.setenv("PATH", str(worked_in / "bin"))
    write_text(worked_in / ".snakemake/log/2026-11-18T01.snakemake.log", "SLURM run ID: this\n")
    write_text(worked_in / "slurm_logs/rule_score/one/8.log", "")
    write_text(worked_in / "logs/train/ce-raw.tsv", BENCHMARK_OF_ALL.format(3000, 2000, 60))
    assert main(["usage", "--json", "usage.json"]) == 0
    written = read_json(worked_in / "usage.json")
    rows = {row["rule"]: row for row in written["rules"]}
    assert written["jobs_in_slurm"] == 2 and rows.keys() == {"train", "score"}
    assert (rows["train"]["seconds"], rows["train"]["mem_mb"], rows["train"]["gpu_hours"]) == (3600, 3000, 2)
    assert (rows["train"]["cpu_hours"], rows["train"]["load"]) == (0.4, pytest.approx(0.4))
    assert (rows["score"]["seconds"], rows["score"]["mem_mb"], rows["score"]["jobs"]) == (600, 500, 1)
