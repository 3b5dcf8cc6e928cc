"""Each job of a study reads and writes files of its own corpus, run, split, side and decoding, and of no other.

One dry run of a study in which nothing is like its neighbour shows all jobs.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from axenat import needs
from axenat.jobs import jobs_of
from axenat.study import parse_study
from tests.reference import workflow_files
from tests.reference.workflow_stages import STAGES
from tests.support import two_corpora
from tests.support.planned_jobs import Job, jobs_in
from tests.support.two_corpora import CORPORA, MEMORY, MEMORY_OF_TEACHERS, RUNS, RUNTIMES

STUDY = parse_study(yaml.safe_load(two_corpora.STUDY))
RECIPE = yaml.safe_load((Path(__file__).parents[2] / "src/axenat/recipes/multi30k.yaml").read_text())
# What nobody asks for by default is planned, too: scores on valid and train, ids of test, what there is so far.
ASKED = (
    "all",
    "raw_text",
    "report_so_far",
    "results/runs/ce-one/valid/ell4.score.json",
    "results/runs/axe-two-delta3/valid/ell5-t4.score.json",
    "results/runs/axe-one-delta2/valid/ell1.analysis.json",
    "results/runs/plain-three/train/beam3.score.json",
    "results/runs/plain-three/train/beam3.analysis.json",
    *(
        f"results/corpora/two/{side}/{split}.safetensors"
        for side in ("raw", "distilled")
        for split in ("valid", "test")
    ),
)
# Their commands are looked at below.
CONFIGURE, FETCH = "configure", "fetch"
# Stages that see every corpus and run.
OF_THE_STUDY = {"speed", "summarise", "tables", "figures", "report", "report_so_far"}


@pytest.fixture(scope="module")
def workshop(new_workshop, tmp_path_factory):
    workshop = new_workshop(tmp_path_factory.mktemp("two"))
    (workshop.folder / "texts").mkdir()
    for name in two_corpora.own_files():
        (workshop.folder / name).write_text("a\n")
    (workshop.folder / "two.yaml").write_text(two_corpora.STUDY)
    return workshop


@pytest.fixture(scope="module")
def jobs(workshop) -> list[Job]:
    done = workshop.snakemake("-n", *ASKED, "--cores", "99", "--configfile", "two.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    return jobs_in(done.stdout)


@pytest.fixture(scope="module")
def stages(jobs) -> list[Job]:
    """Jobs of all stages but those that write configurations and fetch archives."""
    return [job for job in jobs if job.stage not in (CONFIGURE, FETCH)]


@pytest.fixture(scope="module")
def files(jobs) -> set[str]:
    """Every file that a job makes, and those that were there before."""
    return {path for job in jobs for path in job.outputs} | {*two_corpora.own_files(), "config/paper.yaml"}


def test_every_stage_is_planned(stages) -> None:
    assert {job.stage for job in stages} == STAGES.keys()


def test_every_command_is_that_of_its_stage_with_files_of_its_own(stages) -> None:
    for job in stages:
        command, _, _ = workflow_files.expected(job)
        assert list(job.command[2 : job.command.index("2>")]) == command, job.name


def test_a_job_waits_for_every_file_that_it_reads_and_for_no_other(stages, files) -> None:
    for job in stages:
        command, reads, writes = workflow_files.expected(job)
        named = {word for word in command if word in files} - set(writes)
        assert set(job.inputs) == named | set(reads), job.name


def test_a_job_declares_every_file_that_it_writes_and_no_other(stages) -> None:
    for job in stages:
        _, _, writes = workflow_files.expected(job)
        assert set(job.outputs) == set(writes), job.name


def test_no_job_but_those_of_the_whole_study_names_anything_of_another_corpus_run_or_split(stages) -> None:
    """A rule that is not in the list of commands would be seen here."""
    for job in stages:
        if job.stage in OF_THE_STUDY or job.stage == "choose":
            continue
        run = RUNS.get(job.wildcards.get("run", ""))
        corpus = run.corpus if run else job.wildcards.get("corpus") or job.rule.split("_")[1]
        runs = {run.name, run.start_from} if run else {CORPORA[corpus].teacher}
        for path in (*job.inputs, *job.outputs, *job.command, job.log):
            assert set(re.findall(r"^results/runs/([^/]+)", path)) <= runs, (job.name, path)
            found = re.findall(r"^(?:data|results/corpora)/(?!archives)([^/]+)", path)
            assert set(found) <= {corpus}, (job.name, path)


def test_a_job_of_one_split_reads_no_text_of_another(stages) -> None:
    of_split = re.compile(r"(?:^data/\w+/|^texts/|/clean/|/raw/|/distilled/|/runs/[^/]+/)(train|valid|test)\b")
    splits = {"train": {"train", "valid"}, "tune": {"valid"}, "learn_subwords": {"train"}}
    for job in stages:
        if job.stage not in OF_THE_STUDY:
            own = job.wildcards.get("split") or job.rule.split("_")[-1]
            allowed = splits.get(job.stage, {own if own in ("train", "valid", "test") else "train"})
            found = {name for path in (*job.inputs, *job.outputs, *job.command) for name in of_split.findall(path)}
            assert found <= allowed, job.name


def test_logs_and_outputs_belong_to_one_job_each(jobs) -> None:
    for kind in ([job.log for job in jobs], [path for job in jobs for path in job.outputs]):
        assert len(kind) == len(set(kind))


def test_a_job_asks_for_the_threads_minutes_and_memory_of_its_own_stage(stages) -> None:
    for job in stages:
        if job.stage == "report_so_far":
            continue
        of_teacher = job.rule.endswith("_teacher") or job.stage == "distil"
        memory = MEMORY_OF_TEACHERS[job.stage] if of_teacher else MEMORY
        assert job.threads == workflow_files.threads_of(job), job.name
        assert job.resources["runtime"] == str(RUNTIMES[job.stage]), job.name
        if job.stage != "learn_subwords":  # by the size of what it reads, which is not known yet
            assert job.resources["mem_mb"] == str(memory), job.name
        if job.stage == "train":
            assert (job.resources["tasks"], job.resources["nodes"]) == ("6", "2")


def test_a_teacher_is_made_by_rules_of_teachers_and_a_student_by_others(stages) -> None:
    for job in stages:
        if job.stage in ("train", "average", "tune"):
            assert (job.rule == f"{job.stage}_teacher") == job.wildcards["run"].startswith("teacher"), job.name


def test_a_configuration_is_the_section_of_its_own_run_or_corpus(jobs) -> None:
    written = [job for job in jobs if job.stage == CONFIGURE and job.rule != "configure_request"]
    assert {job.rule for job in written} == {f"configure_{what}" for what in ("corpus", "origin", "run", "decode")}
    for job in written:
        (out,) = job.outputs
        kind = "runs" if "run" in job.wildcards else "corpora"
        name, stage = out.split("/")[1:3] if out.startswith("data/") else (out.split("/")[2], out.split("/")[-1])
        section = STUDY.section(kind, name, stage.removesuffix(".yaml"))
        assert json.loads(job.flags["--resolved"][0]) == json.loads(json.dumps(section)), job.name
        assert job.flags["--out"] == (out,) and job.inputs == ()


def test_an_archive_is_fetched_under_the_name_that_its_recipe_gives_its_address(jobs) -> None:
    fetched = [job for job in jobs if job.stage == FETCH]
    assert len(fetched) == 6
    for job in fetched:
        (out,), (archive,), (folder,) = job.outputs, job.flags["--archives"], job.flags["--out"]
        (address,) = RECIPE["archives"][archive]["addresses"]
        assert job.flags["--recipe"] == ("multi30k",)
        assert out == f"{folder.rstrip('/')}/{address.removeprefix('https://')}" and folder.startswith("data/archives")


@pytest.fixture(scope="module")
def requests(jobs) -> dict[str, dict[str, Any]]:
    written = [job for job in jobs if job.rule == "configure_request"]
    assert all(job.outputs == (f"results/requests/{job.wildcards['request']}.yaml",) for job in written)
    return {job.wildcards["request"]: json.loads(job.flags["--resolved"][0]) for job in written}


def test_a_request_names_the_records_that_its_job_waits_for(requests) -> None:
    assert set(requests) == set(workflow_files.REQUESTS)
    for name, said in requests.items():
        files = {key: value for key, value in said.items() if key not in ("jobs", "lacking")}
        assert files == workflow_files.request(name), name


def test_a_table_is_handed_the_sentences_about_its_own_missing_runs(requests) -> None:
    told = {name: requests[f"tables-{name}"].get("lacking", []) for name in workflow_files.TABLES}
    assert told == {name: needs.lacking(STUDY, name) for name in workflow_files.TABLES}
    assert len(set(map(tuple, told.values()))) > 2
    assert not any("lacking" in said for name, said in requests.items() if not name.startswith("tables-"))


def test_pages_are_handed_the_number_of_jobs_of_each_stage(requests) -> None:
    assert {name for name, said in requests.items() if "jobs" in said} == {"report", "report_so_far"}
    assert requests["report"]["jobs"] == requests["report_so_far"]["jobs"] == jobs_of(STUDY)


def test_raw_text_is_all_text_and_origins_and_nothing_that_is_made_of_them(workshop) -> None:
    plan = workshop.plan("raw_text", "--configfile", "two.yaml")
    downloads = {f"download_{corpus}_{split}" for corpus in CORPORA for split in ("train", "valid", "test")}
    assert plan.keys() == downloads | {"configure_corpus", "configure_origin", "fetch", "raw_text"}
    assert plan["configure_origin"] == {f"corpus={corpus}" for corpus in CORPORA}


def test_every_rule_of_a_stage_has_the_version_of_that_stage_as_a_parameter(workshop) -> None:
    """Without it, a raised version would leave results as they are."""
    texts = "\n".join(path.read_text() for path in sorted((workshop.folder / "workflow/rules").glob("*.smk")))
    found = {}
    for block in re.split(r"\n(?=(?: {8})?(?:use )?rule\b)", texts):
        if stage := re.search(r'"axenat (\w+)', block.partition("shell:")[2]):
            found[stage[1]] = re.findall(r'version=VERSIONS\["(\w+)"\]', block)
    versions = yaml.safe_load((workshop.folder / "workflow/stage_versions.yaml").read_text())
    assert {stage for stage, names in found.items() if not names} == {CONFIGURE, FETCH}
    assert {stage: names for stage, names in found.items() if names} == {stage: [stage] for stage in versions}
