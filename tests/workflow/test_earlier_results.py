"""Results of the version before valid and test were tokenised once: nothing is trained, tuned or translated again."""

from pathlib import Path
from typing import Any

import pytest

from axenat.files import sha256_of, write_text
from axenat.notes import NOTES, note_of, write_note
from tests.support.planned_jobs import Job, jobs_in

STUDY = """
study: earlier
corpora:
  one: {source_language: en, target_language: de, folder: texts, distil: {teacher: teacher}}
  two: {source_language: en, target_language: de, folder: texts, references: 2}
recipes:
  small: {train: {steps: 1}, decode: {also: []}}
runs:
  teacher: {recipe: small, corpus: one, objective: {name: left_to_right}}
  student: {recipe: small, corpus: one, objective: {name: axe, skip_target_penalty: 2}, target_side: distilled}
  other: {recipe: small, corpus: two, objective: {name: left_to_right}}
tables: [lengths]
"""
STUDY_FILE = ("--configfile", "earlier.yaml")
CLEAN, DATA = "results/corpora/{}/clean/{}", "data/{}/{}"


def earlier_inputs(job: Job, corpus: str) -> set[str] | None:
    """What the job's rule read in that version, worked out by hand; None: the same as now."""
    words = {
        name: CLEAN.format(corpus, name) for name in ("valid.source", "valid.target", "test.source", "test.target")
    }
    plain = {split: DATA.format(corpus, f"{split}.en") for split in ("valid", "test")}
    inputs = {*job.inputs}
    if job.stage == "tune":
        return inputs - {words["valid.source"], words["valid.target"]} | {plain["valid"]}
    if job.stage == "translate":
        return inputs - {words["test.source"]} | {plain["test"]}
    if job.stage == "score":
        return inputs - {words["test.target"], CLEAN.format(corpus, "test.references")}
    if job.stage == "analyse":
        return inputs - {words["test.source"], words["test.target"]}
    return None


@pytest.fixture(scope="module")
def workshop(new_workshop, tmp_path_factory) -> Any:
    """A study that is done; then its notes are as that version left them, and there are no words of references."""
    workshop = new_workshop(tmp_path_factory.mktemp("earlier"))
    write_text(workshop.folder / "earlier.yaml", STUDY)
    for split in ("train", "valid", "test"):
        for end in ("en", "de", "ref1.de"):
            write_text(workshop.folder / f"texts/{split}.{end}", f"{split} {end}\n")
    plan = workshop.snakemake("-n", "all", "--cores", "2", *STUDY_FILE)
    jobs = jobs_in(plan.stdout)
    for path in (path for job in jobs for path in job.outputs):
        write_text(workshop.folder / path, path)
    done = workshop.snakemake("--touch", "--forceall", "--cores", "1", "--no-hooks", *STUDY_FILE, "--", "all")
    assert done.returncode == 0 and workshop.plan("all", *STUDY_FILE) == {}, done.stdout + done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workshop.folder)
        for job in jobs:
            before = earlier_inputs(job, "two" if job.wildcards.get("run") == "other" else "one")
            for path in job.outputs if before else ():
                sums = {name: f"sha256:{sha256_of(name)}" for name in before or ()}
                assert note_of(path)["input"] == sorted(job.inputs)
                write_note(path, {**note_of(path), "input": sorted(sums), "input_checksums": sums})
    (workshop.folder / CLEAN.format("two", "test.references")).unlink()
    return workshop


def test_only_words_of_further_references_are_made_and_what_is_scored_with_them(workshop) -> None:
    plan = workshop.plan("all", *STUDY_FILE)
    assert plan.pop("clean_references") == {"corpus=two, split=test"}
    assert plan.pop("score") == {"run=other, split=test, decode=beam5"}
    assert plan.keys() <= {"summarise", "table", "figure", "report", "all"}


def test_a_second_plan_is_the_same_and_changed_text_is_still_noticed(workshop) -> None:
    assert workshop.plan("results/runs/student/test/ell5.analysis.json", *STUDY_FILE) == {}
    notes = {path: path.read_bytes() for path in (workshop.folder / NOTES).rglob("*") if path.is_file()}
    assert workshop.plan("results/runs/student/test/ell5.score.json", *STUDY_FILE) == {}
    assert {path: path.read_bytes() for path in notes} == notes
    words = Path(workshop.folder, CLEAN.format("one", "valid.source"))
    write_text(words, "other words\n")
    plan = workshop.plan("results/runs/teacher/tuned.json", *STUDY_FILE)
    assert plan["tune_teacher"] == {"run=teacher"}
