"""Laws of the simulator, and that its jobs are those of the study; figures are never tested, machines are noisy."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from axenat.estimates import parameters_of
from axenat.files import read_yaml, write_json, write_lines, write_text
from axenat.jobs import jobs_of
from axenat.preflight.asked import jobs_by_rule
from axenat.resources import resources_of
from axenat.study import parse_study
from benchmarks import scale, scale_rates
from benchmarks.scale import longest_rest, schedule, simulate
from benchmarks.scale_jobs import Job, Rates, jobs_of_study, multiplied, training_seconds
from tests.studies import study

ROOT = Path(__file__).parents[2]
GPUS = 4
RATES = Rates(peak=1e14, job_seconds=20.0)
STUDIES = {name: parse_study(read_yaml(ROOT / f"config/{name}.yaml")) for name in ("config", "tiny", *scale.STUDIES)}
SMALL = scale_rates.Size(
    scale_rates.ModelConfig(width=32, heads=2, hidden=64), 100, 200, scale_rates.caption_lengths, 50, 1
)
STUDIES["toy"] = parse_study(study())  # with a corpus that nothing is trained on


@st.composite
def graphs(draw) -> list[Job]:
    """Each job waits for some of those before it."""
    jobs: list[Job] = []
    for number in range(draw(st.integers(1, 12))):
        after = draw(st.sets(st.sampled_from([job.name for job in jobs]))) if jobs else set()
        seconds, gpus = draw(st.integers(0, 50)), draw(st.integers(0, GPUS))
        jobs.append(Job(name=str(number), rule="train", seconds=seconds, gpus=gpus, after=tuple(sorted(after))))
    return jobs


def end(spans) -> float:
    return max(stop for _, stop in spans.values())


@given(graphs(), st.integers(GPUS, 3 * GPUS))
def test_nothing_ends_before_its_critical_path_nor_before_the_gpus_have_done_the_work(jobs, gpus) -> None:
    taken = end(simulate(jobs, gpus))
    assert taken >= max(longest_rest(jobs).values())
    assert gpus * taken >= sum(job.gpus * job.seconds for job in jobs)
    assert taken <= sum(job.seconds for job in jobs)  # somebody is always at work


@given(graphs(), st.integers(GPUS, 3 * GPUS))
def test_a_job_begins_when_all_that_it_waits_for_has_ended_and_gpus_are_never_lent_twice(jobs, gpus) -> None:
    spans = simulate(jobs, gpus)
    assert spans.keys() == {job.name for job in jobs}
    for job in jobs:
        begin, stop = spans[job.name]
        assert stop - begin == job.seconds
        assert all(spans[before][1] <= begin for before in job.after)
        together = [one for one in jobs if spans[one.name][0] <= begin < spans[one.name][1]]
        assert sum(one.gpus for one in together) <= gpus


@given(graphs())
def test_on_one_gpu_jobs_come_one_after_the_other(jobs) -> None:
    alone = [Job(name=job.name, rule="", seconds=job.seconds, gpus=1, after=job.after) for job in jobs]
    assert end(simulate(alone, 1)) == sum(job.seconds for job in jobs)


@given(graphs())
def test_with_gpus_for_everybody_only_the_critical_path_counts(jobs) -> None:
    assert end(simulate(jobs, GPUS * len(jobs))) == max(longest_rest(jobs).values())


def test_a_job_that_needs_more_than_there_is_is_refused() -> None:
    with pytest.raises(ValueError, match="large needs 8 GPUs, there are 4"):
        simulate([Job(name="large", rule="train", seconds=1, gpus=8)], GPUS)


@pytest.mark.parametrize("name", STUDIES)
def test_the_jobs_are_those_of_the_study_and_ask_for_its_gpus(name) -> None:
    known = STUDIES[name]
    resources = resources_of(known.resources)
    asked = {rule: max(1, ask.gpus) for rule, ask in resources.by_rule().items()}
    jobs = jobs_of_study(known, resources, RATES, asked)
    counted = {rule: sum(job.rule == rule for job in jobs) for rule in {job.rule for job in jobs}}
    expected = {**jobs_by_rule(known), "fetch": jobs_of(known)["fetch"]}
    assert counted == {rule: number for rule, number in expected.items() if number}
    names = {job.name for job in jobs}
    assert len(names) == len(jobs) and all(set(job.after) <= names for job in jobs)
    last = max(simulate(jobs, 16).items(), key=lambda item: item[1])[0]
    assert last == "report" and all(job.seconds >= RATES.job_seconds for job in jobs if job.rule != "fetch")


def test_students_on_distilled_data_wait_for_the_teacher_and_those_on_raw_data_do_not() -> None:
    known = STUDIES["wmt14-en-de"]
    jobs = jobs_of_study(known, resources_of(known.resources), RATES, {"train": 1, "train_teacher": 8})
    spans = simulate(jobs, 16)
    assert spans["train ce-distilled"][0] > spans["train teacher"][1]
    assert spans["train ce-raw"][0] < spans["train teacher"][1]


def test_a_training_takes_as_long_as_its_operations_and_gpus_never_do_more_than_their_number() -> None:
    known = STUDIES["wmt14-en-de"]
    run = known.runs["ce-raw"].train
    one, eight = (training_seconds(known, "ce-raw", gpus, RATES) for gpus in (1, 8))
    operations = 6 * sum(multiplied(known, "ce-raw")) * run.steps * run.tokens_per_step
    assert one == pytest.approx(operations / (RATES.train_share * RATES.peak))
    assert one / 8 < eight == pytest.approx(one / 8 / RATES.doubling**3)
    assert sum(multiplied(known, "ce-raw")) == parameters_of(known, "ce-raw")  # joint: every matrix is multiplied
    separate = STUDIES["wmt17-en-zh"]
    assert sum(multiplied(separate, "teacher")) < parameters_of(separate, "teacher")


def test_twice_as_many_gpus_are_never_slower_for_the_same_jobs() -> None:
    known = STUDIES["wmt14-en-de"]
    jobs = jobs_of_study(known, resources_of(known.resources), RATES, {"train": 1, "train_teacher": 8})
    eight, sixteen = schedule(jobs, 8), schedule(jobs, 16)
    assert sixteen["hours"] < eight["hours"] and sixteen["gpu_hours"] == eight["gpu_hours"]
    for row in (eight, sixteen):
        assert row["at_least_hours"] <= row["hours"] and 0 < row["utilisation"] <= 1


def test_a_plan_of_so_many_runs_has_so_many() -> None:
    values = read_yaml(ROOT / "config/wmt14-en-de.yaml")
    assert [len(parse_study(scale_rates.with_runs(values, number)).runs) for number in (4, 10, 100)] == [4, 10, 100]


@pytest.fixture
def _threads():
    """The benchmark sets them."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.usefixtures("_threads")
def test_all_that_the_page_tells_is_measured_or_assumed_and_written(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(scale, "calibrated", lambda rounds: scale_rates.calibrated(rounds, SMALL))
    shards = tmp_path / "results/corpora/demo/distilled/shards"
    write_json(shards / "1-of-2.json", {"lines": 100})
    write_text(tmp_path / "logs/distil/demo-1-of-2.tsv", "s\tmax_rss\tcpu_time\n10\t300\t9\n")
    write_lines(tmp_path / "results/corpora/demo/subwords/vocab.target", map(str, range(400)))
    flags = ["--results", tmp_path / "results", "--logs", tmp_path / "logs", "--rounds", 1, "--runs", 4]
    scale.main([str(flag) for flag in (*flags, "--json", tmp_path / "scale.json")])
    written = json.loads((tmp_path / "scale.json").read_text())
    assert written["measured"]["distillation"]["sentences_per_second"] == 10
    (plan,) = written["measured"]["plans"]
    assert plan["jobs"] > 100 and plan["cpu_seconds"] > plan["cpu_seconds_of_one_job"] > 0.5
    assert {row["study"] for row in written["schedules"]} == {*scale.STUDIES, "4 runs"}
    assert written["assumed"]["train_share"] == Rates(peak=0).train_share
    assert "as asked" in capsys.readouterr().out
    again = ("--measured", tmp_path / "scale.json", "--json", tmp_path / "again.json", "--peak", "H100=990")
    scale.main(list(map(str, again)))
    known = json.loads((tmp_path / "again.json").read_text())
    assert known["measured"] == written["measured"] and {row["gpu"] for row in known["schedules"]} == {"H100"}
