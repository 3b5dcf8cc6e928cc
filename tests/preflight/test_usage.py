"""What jobs used is taken from clocks that were really read, and what is suggested is never too little for them."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from axenat.files import write_text
from axenat.preflight import accounting
from axenat.preflight.accounting import (
    jobs_in_slurm,
    megabytes_in,
    rules_in_logs,
    seconds_in,
    stage_of,
    workflows_of,
)
from axenat.preflight.usage import (
    SNAKEMAKE_MB,
    Row,
    Used,
    as_table,
    as_yaml,
    benchmarks,
    in_order,
    notes,
    rows_of,
    suggested,
)
from axenat.resources import STAGES, Ask, resources_of
from axenat.site import Site
from axenat.study import parse_study
from tests.studies import study

RULES = Path(__file__).parents[2] / "workflow/rules"
STUDY = parse_study(study())
HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"
ASKS = in_order(STUDY, resources_of({}).by_rule())
amounts = st.floats(1, 1e6)


def benchmark(path: Path, seconds: float, mem_mb: object = 300.0, cpu_seconds: object = 10.0) -> None:
    write_text(path, f"{HEAD}\n{seconds}\t0:00:00\t{mem_mb}\t0\t0\t0\t0\t0\t0\t{cpu_seconds}\n")


def used(rule: str = "train", seconds: float = 60.0, mem_mb: float | None = 300.0, **more) -> Used:
    return Used(rule=rule, seconds=seconds, cpu_seconds=seconds / 2, mem_mb=mem_mb, **more)


def row(ask: Ask, *jobs: Used, site: Site = Site()) -> Row:  # noqa: B008
    (found,) = rows_of({"train": ask}, jobs, site)
    return found


@given(amounts, amounts, st.integers(500, 10**6), st.integers(5, 10**5))
def test_what_is_suggested_is_enough_and_not_much_more_than_that(seconds, mem_mb, asked_mb, asked_minutes) -> None:
    site = Site(most_runtime=10**9)
    found = row(Ask(mem_mb=asked_mb, runtime=asked_minutes), used(seconds=seconds, mem_mb=mem_mb), site=site)
    if found.better_mem_mb:
        assert 1.25 * (mem_mb + SNAKEMAKE_MB) <= found.better_mem_mb < 1.25 * (mem_mb + SNAKEMAKE_MB) + 500.001
    if found.better_runtime:
        assert 2 * seconds / 60 <= found.better_runtime < max(10, 2 * seconds / 60) + 5.001
    # What is kept is neither too small nor far too large.
    assert found.better_mem_mb or mem_mb + SNAKEMAKE_MB <= asked_mb <= 1.5 * (1.25 * (mem_mb + SNAKEMAKE_MB) + 500)
    assert found.better_runtime or seconds / 60 <= asked_minutes <= 1.5 * (max(10, 2 * seconds / 60) + 5)


@given(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=5))
def test_taking_the_advice_leaves_nothing_to_advise(jobs) -> None:
    measured, site = [used(seconds=seconds, mem_mb=mem_mb) for seconds, mem_mb in jobs], Site(most_runtime=10**9)
    found = row(Ask(), *measured, site=site)
    over = suggested([found], {"train": Ask()}).get("train", {})
    assert suggested([row(Ask(**over), *measured, site=site)], {"train": Ask(**over)}) == {}


def test_a_cluster_s_own_limits_are_never_exceeded() -> None:
    found = row(Ask(), used(seconds=10**6, mem_mb=10**6), site=Site(most_runtime=600, most_mem_mb=8000))
    assert (found.better_runtime, found.better_mem_mb) == (600, 8000)


def test_the_longest_and_the_largest_job_count_and_cores_on_the_mean() -> None:
    found = row(Ask(), used(seconds=100, mem_mb=700), used(seconds=300, mem_mb=100))
    assert (found.jobs, found.seconds, found.mem_mb, found.load) == (2, 300, 700, pytest.approx(0.5))
    assert (found.hours, found.cpu_hours) == (pytest.approx(400 / 3600), pytest.approx(200 / 3600))


def test_slurm_counts_snakemake_already_and_ranks_that_no_benchmark_sees() -> None:
    several = Ask(gpus=4, mem_mb=64_000)
    launcher, ranks = used(mem_mb=20), used(mem_mb=40_000, seconds=90, whole=True, gpus=4)
    assert row(several, launcher).mem_mb is None and row(several, launcher).load is None
    both = row(several, launcher, ranks)
    assert (both.jobs, both.mem_mb, both.better_mem_mb) == (1, 40_000, None)  # a quarter more is 50,000
    assert both.gpu_hours == pytest.approx(4 * 90 / 3600)
    alone = row(Ask(), used(mem_mb=3_000, whole=True))
    assert alone.better_mem_mb == 4_000 and row(Ask(), used(mem_mb=3_000)).better_mem_mb == 4_500


def test_benchmarks_are_known_by_their_folder_and_teachers_by_their_name(tmp_path) -> None:
    for name in (
        "train/teacher",
        "train/ce",
        "tune/teacher",
        "distil/demo-1-of-2",
        "configure/ce-run",
        "score/teacher",
    ):
        benchmark(tmp_path / f"{name}.tsv", 9.0)
    found, passed_over = benchmarks(STUDY, tmp_path, tmp_path)
    assert passed_over == 0
    assert {one.rule for one in found} == {"train_teacher", "train", "tune_teacher", "distil", "score"}


def test_what_is_half_written_or_tells_nothing_is_passed_over_and_counted(tmp_path) -> None:
    benchmark(tmp_path / "score/one.tsv", 9.0)
    benchmark(tmp_path / "score/two.tsv", 0.1, "NA", "NA")
    for name, text in {
        "three": "",
        "four": HEAD,
        "five": f"{HEAD}\n9.0\t0:00:09\t30",
        "six": "s\tmax_rss\nx\ty",
    }.items():
        write_text(tmp_path / f"score/{name}.tsv", text)
    found, passed_over = benchmarks(STUDY, tmp_path, tmp_path)
    assert (len(found), passed_over) == (1, 5)


def test_a_job_that_was_over_at_once_tells_its_time_but_no_memory(tmp_path) -> None:
    benchmark(tmp_path / "average/ce.tsv", 0.5, 3.1, 0.0)
    benchmark(tmp_path / "average/other.tsv", 7.0, 44.0, 0.7)  # it waited for a processor
    found, _ = benchmarks(STUDY, tmp_path, tmp_path)
    (average,) = rows_of(ASKS, found, Site())
    assert (average.mem_mb, average.better_mem_mb, average.seconds) == (None, None, 7.0)


def test_a_training_that_was_resumed_counts_with_all_its_steps(tmp_path) -> None:
    steps = STUDY.runs["ce"].train.steps
    benchmark(tmp_path / "logs/train/ce.tsv", 30.0)
    write_text(tmp_path / "runs/ce/checkpoints/speed.jsonl", f'{{"step": 1, "seconds": {36_000 / steps}}}\n')
    found, _ = benchmarks(STUDY, tmp_path, tmp_path / "logs")
    (train,) = rows_of(ASKS, found, Site())
    assert train.seconds == pytest.approx(36_000) and train.better_runtime == 1_200
    assert train.hours == pytest.approx(30 / 3600)


def test_teachers_and_students_share_a_key_so_that_the_larger_wish_counts() -> None:
    ask = Ask(mem_mb=8_000, runtime=600)
    asks = {"train_teacher": ask, "train": ask, "score": ask}
    small, large = used("train_teacher", 60, 100), used("train", 60, 9_000)
    only_teacher = rows_of(asks, [small], Site())
    assert suggested(only_teacher, asks) == {}  # students have not run yet
    assert suggested(only_teacher, {"train_teacher": ask}) == {"train": {"mem_mb": 1_000, "runtime": 10}}
    assert suggested(rows_of(asks, [small, large], Site()), asks) == {"train": {"mem_mb": 12_000, "runtime": 10}}


def test_what_is_printed_to_be_pasted_is_what_resources_takes() -> None:
    rows = rows_of(ASKS, [used("train", 60, 9_000), used("score", 5, 100)], Site())
    better = suggested(rows, ASKS)
    pasted = yaml.safe_load("\n".join(as_yaml(better)))
    assert pasted == {"resources": better}
    assert resources_of(pasted["resources"]).ask("train").mem_mb == 12_000
    table = as_table(rows)
    assert len(table) == 3 and len({len(line) for line in table}) == 1
    assert notes(rows, better, 2, None)[1].startswith("2 benchmarks") and "fits" in notes(rows, {}, 0, [])[-1]


def test_every_rule_that_asks_for_something_is_known_by_its_stage() -> None:
    text = "\n".join(path.read_text() for path in RULES.glob("*.smk"))
    blocks = re.split(r"^ *(?:use rule |rule ?(?=[\w:]))", text, flags=re.MULTILINE)
    asking = [block for block in blocks if re.search(r"asks\(\"", block)]
    assert len(asking) > 15
    for block in asking:
        name = re.match(r"(?:\w+ as )?(\w*)", block)[1] or "download_demo_train"
        stage, teacher = re.search(r"asks\(\"(\w+)\"(.*?)\)", block).groups()
        expected = f"{stage}_teacher" if teacher and stage != "distil" else stage
        assert stage_of(name) == expected and expected in ASKS, block
    assert set(accounting.STAGE_OF_RULE.values()) <= set(STAGES)
    for name in accounting.STAGE_OF_RULE:
        assert re.search(rf"^(?:rule|use rule \w+ as) {name}\b", text, re.MULTILINE)


def test_clocks_and_amounts_of_slurm() -> None:
    assert seconds_in("1-02:03:04") == 86_400 + 2 * 3600 + 3 * 60 + 4
    assert (seconds_in("00:01:05"), seconds_in("01:05.5")) == (65, 65.5)
    assert (megabytes_in("2000M"), megabytes_in("1.5G"), megabytes_in(""), megabytes_in("0")) == (2000, 1536, 0, 0)


SACCT = """12|rule_train_wildcards_ce|COMPLETED|01:00:00|00:30:00|||billing=4,cpu=4,gres/gpu=2,mem=8000M,node=1
12.batch||COMPLETED|01:00:00|00:00:10|1|300.00M|cpu=4,mem=8000M,node=1
12.extern||COMPLETED|01:00:00|00:00:00|1|0|cpu=4,mem=8000M,node=1
12.0||COMPLETED|00:59:00|00:29:50|2|1000.00M|cpu=4,mem=8000M,node=1
13|rule_score_wildcards_ce|OUT_OF_MEMORY|00:01:00|00:00:30|||billing=1,cpu=1,mem=2000M,node=1
13.batch||OUT_OF_MEMORY|00:01:00|00:00:10|1|300.00M|cpu=1,mem=2000M,node=1
14||COMPLETED|00:00:20|00:10.500|||cpu=1,mem=2000M,node=1
15|rule_train_wildcards_ce|CANCELLED by 0|00:00:20|00:00:00|||cpu=1,mem=2000M,node=1
16|rule_tables_figure_table|COMPLETED|00:10:00|00:00:00|||cpu=1,mem=2000M,node=1
17|rule_download_demo_train|TIMEOUT|01:00:10|00:00:00|||cpu=1,mem=2000M,node=1
18|rule_train|COMPLETED|soon|00:00:00|||
nonsense"""


def test_slurm_s_own_account_of_jobs(monkeypatch, tmp_path) -> None:
    asked = []
    monkeypatch.setattr(accounting, "slurm_lines", lambda *words: asked.append(words) or SACCT.splitlines())
    write_text(tmp_path / "rule_average/ce/14.log", "")
    found = {one.rule: one for one in jobs_in_slurm({"id": "2026-11-18"}, rules_in_logs(tmp_path), ASKS)}
    assert found.keys() == {"train", "score", "average", "download"}
    train = found["train"]
    assert (train.seconds, train.cpu_seconds, train.mem_mb, train.gpus, train.whole) == (3600, 1800, 2300, 2, True)
    assert found["score"].mem_mb == 2000  # it had that, and wanted more
    assert (found["average"].mem_mb, found["average"].cpu_seconds) == (None, 10.5)
    assert {"--name=id", "--starttime=2026-11-18"} <= set(asked[0])


def test_a_workflow_s_id_and_day_are_in_snakemake_s_own_log(tmp_path, monkeypatch) -> None:
    write_text(tmp_path / "2026-11-18T024015.638147.snakemake.log", "host: vm\nSLURM run ID: d14c-36\nJob stats:\n")
    write_text(tmp_path / "2026-11-17T024015.638147.snakemake.log", "host: vm\n")
    assert workflows_of(tmp_path) == {"d14c-36": "2026-11-18"}
    assert jobs_in_slurm({}, {}, ASKS) is None
    monkeypatch.setattr(accounting, "slurm_lines", lambda *words: [])
    assert jobs_in_slurm({"d14c-36": "2026-11-18"}, {}, ASKS) is None
