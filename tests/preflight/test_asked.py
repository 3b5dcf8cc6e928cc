"""What a study will ask for is told in full: every job once, and all hours together."""

import re
from pathlib import Path

import pytest

from axenat.files import read_yaml
from axenat.jobs import jobs_of
from axenat.preflight.asked import check_asked, in_words, jobs_by_rule
from axenat.resources import SIZES, Ask, resources_of
from axenat.study import Study, parse_study
from tests.studies import study

CONFIG = Path(__file__).parents[2] / "config"
STUDIES = {
    "toy": study(),
    "without a teacher": study(corpora__demo__distil=None, runs__ce__target_side="raw"),
    **{name: read_yaml(CONFIG / f"{name}.yaml") for name in ("config", "tiny", "wmt14-en-de", "wmt17-zh-en")},
}
each_study = pytest.mark.parametrize("known", [*map(parse_study, STUDIES.values())], ids=STUDIES)
each_size = pytest.mark.parametrize("size", SIZES)


@each_study
def test_jobs_by_rule_are_those_of_the_stages_but_for_fetch(known: Study) -> None:
    by_rule, by_stage = jobs_by_rule(known), jobs_of(known)
    assert sum(by_rule.values()) == sum(by_stage.values()) - by_stage["fetch"]
    for stage, number in by_stage.items():
        if stage != "fetch":
            assert by_rule[stage] + by_rule.get(f"{stage}_teacher", 0) == number
    assert min(by_rule.values()) >= 0


@each_study
def test_trainings_of_teachers_are_counted_apart(known: Study) -> None:
    by_rule = jobs_by_rule(known)
    assert (by_rule["train_teacher"], by_rule["train"]) == (len(known.teachers), len(known.students))


@each_study
def test_every_rule_with_jobs_has_an_ask(known: Study) -> None:
    assert jobs_by_rule(known).keys() <= resources_of({}).by_rule().keys()


@each_size
@each_study
def test_every_job_is_told_once_beside_what_it_asks_for(known: Study, size) -> None:
    resources = resources_of({"size": size, "teacher": "large"})
    *lines, last = check_asked(known, resources)
    told = {}
    for line in lines:
        asked, listed = line.words.split(": ")
        for rule, number in re.findall(r"(\w+) (\d+)", listed):
            assert rule not in told
            assert asked == in_words(resources.by_rule()[rule])
            told[rule] = int(number)
    assert told == {rule: number for rule, number in jobs_by_rule(known).items() if number}
    assert len({line.words.split(": ")[0] for line in lines}) == len(lines), "alike are together"
    assert {line.level for line in (*lines, last)} == {"ok"}, "to ask for much is no fault"


@each_size
def test_hours_are_those_of_every_job_for_all_of_its_time(size) -> None:
    known, resources = parse_study(study()), resources_of({"size": size})
    asks = [ask for rule, ask in resources.by_rule().items() for _ in range(jobs_by_rule(known).get(rule, 0))]
    cpu_hours = sum(ask.runtime * ask.cpus * ask.ranks for ask in asks) / 60
    gpu_hours = sum(ask.runtime * ask.gpus for ask in asks) / 60
    last = list(check_asked(known, resources))[-1].words
    assert f"{cpu_hours:,.0f} CPU-hours" in last
    assert (f"{gpu_hours:,.0f} GPU-hours" in last) == ("GPU" in last) == (gpu_hours > 0)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (Ask(), "1 core, 2.0 GB, 1 h"),
        (Ask(cpus=2, runtime=90), "2 cores, 2.0 GB, 1.5 h"),
        (Ask(gpus=1, runtime=10), "1 GPU, 1 core, 2.0 GB, 10 min"),
        (Ask(gpus=8, cpus=4, mem_mb=64_000, runtime=1440), "8 GPUs, 4 cores each, 64.0 GB a node, 24 h"),
        (Ask(gpus=16, nodes=2), "16 GPUs on 2 nodes, 1 core each, 2.0 GB a node, 1 h"),
        (Ask(tasks=2), "2 processes, 1 core each, 2.0 GB a node, 1 h"),
    ],
)
def test_an_ask_in_words(ask, words) -> None:
    assert in_words(ask) == words


def test_what_is_told_apart_differs_in_words() -> None:
    every = {ask for size in SIZES.values() for ask in size.values()}
    assert len({in_words(ask) for ask in every}) == len(every)
