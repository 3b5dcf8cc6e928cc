"""What the workflow does after the last job: its own commands are stood in for by one that only writes its outputs."""

import json
import os

import pytest

from axenat.dvc_stages import describe
from axenat.study_requests import read_request
from tests.stand_in import stand_in
from tests.support.planned_jobs import jobs_in

STUDY = """
study: hooks
corpora:
  own:
    source_language: en
    target_language: de
    folder: texts
    distil: {teacher: teacher}
recipes:
  small: {corpus: own, train: {steps: 1}}
runs:
  teacher: {recipe: small, objective: {name: left_to_right}}
  axe: {recipe: small, objective: {name: axe, skip_target_penalty: [1.5, 2]}}
tables: [speed]
"""
RUNS = ["teacher", "axe-delta1.5", "axe-delta2"]
FURTHER = [f"results/runs/{run}/test/ell1.score.json" for run in RUNS[1:]]
PUBLISH = ["publish", "--study", "hooks", "--runs", *RUNS, "--further", *FURTHER, "--patience", "600"]
REGISTER = ["register", "--runs", *RUNS, "--choices", "results/choices/axe.json"]
# Writes what the command line is known to write, and fails where it is told to.
CODE = """import json, os
folder = os.path.dirname(sys.argv[0])
with open(os.path.join(folder, "calls"), "a") as calls:
    calls.write(json.dumps(words) + "\\n")
known = json.load(open(os.path.join(folder, "outputs.json")))
for path in known.get(" ".join(word for word in words if not word.startswith("{")), []):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(" ".join(words))
sys.exit(1 if words[0] == os.environ.get("FAILING") else 0)
"""


@pytest.fixture(scope="module")
def workshop(new_workshop, tmp_path_factory):
    workshop = new_workshop(tmp_path_factory.mktemp("hooks"))
    (workshop.folder / "texts").mkdir()
    for split in ("train", "valid", "test"):
        for language in ("en", "de"):
            (workshop.folder / f"texts/{split}.{language}").write_text("a\n")
    (workshop.folder / "config/config.yaml").write_text(STUDY)
    jobs = jobs_in(workshop.snakemake("-n", "all", "--cores", "2").stdout)
    known = {_without_json(job.command[1 : _end(job.command)]): job.outputs for job in jobs}
    stand_in(workshop.folder / "bin", "axenat", CODE)
    (workshop.folder / "bin/outputs.json").write_text(json.dumps(known))
    return workshop


def _without_json(words: tuple[str, ...]) -> str:
    """What is written to a file may change, and the file has the same name."""
    return " ".join(word for word in words if not word.startswith("{"))


def _end(words: tuple[str, ...]) -> int:
    return min(words.index(sign) for sign in (">", "2>") if sign in words)


def after(workshop, *words: str, **variables: str) -> list[list[str]]:
    """Calls of commands that are no jobs, in order."""
    calls = workshop.folder / "bin/calls"
    calls.write_text("")
    path = f"{workshop.folder / 'bin'}{os.pathsep}{workshop.path}"
    given = [f"{name}={value}" for name, value in {"PATH": path, **variables}.items()]
    done = workshop.run("env", *given, "snakemake", "--cores", "2", *words)
    assert (done.returncode != 0) == ("FAILING" in variables), done.stdout[-3000:] + done.stderr[-3000:]
    found = [json.loads(line) for line in calls.read_text().splitlines()]
    return [call for call in found if call[0] in ("publish", "describe", "record", "register", "report_so_far")]


@pytest.fixture(scope="module")
def finished(workshop):
    """The whole study, and what was called after it."""
    return after(workshop, "all")


def test_a_study_that_is_done_is_published_recorded_and_registered(finished) -> None:
    assert finished == [PUBLISH, ["describe"], ["record"], REGISTER]


def test_a_part_of_a_study_is_published_and_neither_recorded_nor_registered(finished, workshop) -> None:
    assert after(workshop, "results/summary.json", "--forcerun", "summarise") == [PUBLISH]


def test_another_study_than_that_of_the_repository_is_never_recorded(finished, workshop) -> None:
    (workshop.folder / "other.yaml").write_text(STUDY.replace("tables: [speed]", "note: another one\ntables: [speed]"))
    assert after(workshop, "all", "--configfile", "other.yaml") == [PUBLISH, REGISTER]


def test_a_study_that_fails_is_published_as_such_and_shows_what_there_is(finished, workshop) -> None:
    published, so_far = after(workshop, "all", "--forcerun", "report", FAILING="report")
    assert published == [*PUBLISH, "--failed"]
    request = "results/requests/report_so_far.yaml"
    assert so_far == ["report_so_far", "--request", request, "--out", "results/so-far"]
    asked = read_request(workshop.folder / request)
    assert asked.study == "hooks" and asked.names == ("speed",)
    assert asked.runs == tuple(f"results/runs/{run}" for run in RUNS) and asked.further == tuple(FURTHER)


def test_dvc_publishes_once_after_its_last_stage(finished, workshop) -> None:
    """It starts a workflow for each stage, and is at work itself: nothing is recorded or registered meanwhile."""
    describe(workshop.folder / "config/config.yaml", workshop.folder / "dvc.yaml")
    score = ("results/summary.json", "--forcerun", "summarise")
    assert after(workshop, *score, DVC_STAGE="summarise") == []
    assert after(workshop, *score, DVC_STAGE="report") == [PUBLISH]
