"""Snakemake and DVC take turns on one small study, with a real git, DVC and remote: nothing is run twice."""

import copy
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from axenat.files import read_yaml, write_text

pytestmark = pytest.mark.slow
# Every stage, and next to nothing for each of them to do.
STUDY = """
study: versions
corpora:
  demo:
    source_language: en
    target_language: de
    grammar: {seed: 1, train: 300, valid: 6, test: 6}
    references: 2
    judged: true
    clean: {min_length: 1, max_length: 80, max_ratio: 9.0, drop_duplicates: false}
    subwords: {merges: 300, joint: true, min_count: 1, max_vocabulary: 0}
    distil: {teacher: teacher, shards: 2}
    analysis: {length_bounds: [1, 9, 11, 13, 15], short_below: 10, long_above: 14}
recipes:
  small:
    corpus: demo
    model: {width: 16, encoder_layers: 1, decoder_layers: 1, heads: 2, hidden: 32, max_positions: 128}
    objective: {name: axe}
    train:
      {steps: 4, tokens_per_step: 256, tokens_per_batch: 256, warmup_steps: 2, validate_every: 2, log_every: 2}
    decode: {beam_size: 1, length_penalties: [1.0], num_length_candidates: 2, also: []}
runs:
  teacher: {recipe: small, objective: {name: left_to_right}}
  axe:
    recipe: small
    target_side: distilled
    objective: {skip_target_penalty: [2]}
    decode: {length_multipliers: [1.0, 1.1]}
tables: [skip_target_penalty, speed]
"""
UP_TO_DATE = "Data and pipelines are up to date."
NOTHING = "Nothing to be done"


def begin(workshop: Any) -> Any:
    (workshop.folder / "config/config.yaml").write_text(STUDY)
    (workshop.folder / ".gitignore").write_text("/data\n/results/\n/logs/\n/.snakemake/\n/mlflow.db*\n/mlruns/\n")
    for command in (
        "git init -q",
        "dvc init -q",
        "axenat describe",
        "snakemake --cores 1 raw_text",
        "dvc add data",
    ):
        assert must(workshop, *command.split())
    return workshop


def must(workshop: Any, *command: str) -> str:
    done = workshop.run(*command)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return str(done.stdout + done.stderr) or "silence"


def commit(workshop: Any, words: str) -> None:
    must(workshop, "git", "add", "-A")
    must(workshop, "git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", words)


def elsewhere(workshop: Any, folder: Path) -> Any:
    other = copy.copy(workshop)
    other.folder = folder
    return other


@pytest.fixture(scope="module")
def finished(tmp_path_factory, new_workshop):
    """Run by Snakemake, and by nothing else; what a test changes, it changes in a copy."""
    workshop = begin(new_workshop(tmp_path_factory.mktemp("first")))
    must(workshop, "snakemake", "--cores", "2", "all")
    must(workshop, "dvc", "remote", "add", "--default", "store", str(tmp_path_factory.mktemp("store")))
    commit(workshop, "the study")
    return workshop


@pytest.fixture
def copied(finished, tmp_path):
    shutil.copytree(finished.folder, tmp_path / "copy", symlinks=True)
    return elsewhere(finished, tmp_path / "copy")


def outs_in(lock: Path) -> dict[str, str]:
    stages = read_yaml(lock)["stages"].values()
    return {out["path"]: out["md5"] for stage in stages for out in stage["outs"]}


def started(said: str) -> set[str]:
    return set(re.findall(r"Running stage '([^']+)'", said))


def jobs(said: str) -> set[str]:
    return set(re.findall(r"^(?:local)?rule (\w+):", said, re.MULTILINE)) - {"all"}


def expect(said: Iterable[str], *words: str) -> None:
    for one, word in zip(said, words, strict=True):
        assert word in one, one[-3000:]


def test_they_take_turns_and_nothing_is_done_twice(finished):
    said = [must(finished, *command) for command in (("dvc", "repro"), ("snakemake", "--cores", "1", "all"))]
    expect(said, UP_TO_DATE, NOTHING)
    assert not started(said[0])
    assert "all" in must(finished, "axenat", "verify")


def test_after_a_changed_parameter_whoever_comes_second_has_nothing_to_do(copied):
    config = copied.folder / "config/config.yaml"
    config.write_text(config.read_text().replace("short_below: 10", "short_below: 9"))
    said = must(copied, "snakemake", "--cores", "2", "all")
    assert {"configure_corpus", "analyse", "figure", "report"} <= jobs(said)
    assert not jobs(said) & {"train", "tune", "translate", "score", "clean"}
    expect([must(copied, "dvc", "repro")], UP_TO_DATE)
    assert "analysis.short_below" in must(copied, "dvc", "params", "diff", "--md")


def test_an_experiment_reruns_what_its_key_touches_and_nothing_else(copied):
    must(copied, "git", "config", "user.name", "a")
    must(copied, "git", "config", "user.email", "a@b.c")
    said = must(copied, "dvc", "exp", "run", "-S", "config/config.yaml:runs.axe.decode.length_multipliers=[1.2]")
    axe = "axe-delta2"
    assert started(said) == {
        f"configure_run@{axe}", f"tune@{axe}", f"translate@{axe}-ell2", f"score@{axe}-ell2", f"analyse@{axe}", "choose",
        "summarise", "configure_requests", "tables", "figures", "report",
    }  # fmt: skip
    expect([must(copied, "snakemake", "--cores", "1", "all")], NOTHING)
    assert "length_multiplier" in must(copied, "dvc", "metrics", "diff", "--md")
    assert must(copied, "axenat", "verify")
    must(copied, "git", "checkout", "-q", ".")  # and back: Snakemake alone would run it all again
    must(copied, "axenat", "adopt")
    expect([must(copied, "snakemake", "--cores", "1", "all"), must(copied, "dvc", "repro")], NOTHING, UP_TO_DATE)


def test_what_was_changed_by_hand_is_named_and_not_overwritten(copied):
    summary = copied.folder / "results/summary.json"
    summary.write_text("{}")
    done = copied.run("axenat", "adopt")
    assert done.returncode == 2 and "results/summary.json" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and summary.read_text() == "{}"


def test_what_was_changed_by_hand_is_made_again_and_never_recorded(copied):
    """A translation that others are made from, a model, and a page that nobody reads."""
    before, folder = outs_in(copied.folder / "dvc.lock"), copied.folder / "results"
    names = ("runs/teacher/test/beam1.txt", "runs/axe-delta2/model.safetensors", "tables/results.md")
    for name in names:
        (folder / name).write_bytes(b"changed " + (folder / name).read_bytes())
    said = must(copied, "dvc", "repro")
    assert [f"results/{name} was changed after its job had made it; it is made again" in said for name in names] == [
        True
    ] * 3
    assert outs_in(copied.folder / "dvc.lock") == before
    expect([must(copied, "axenat", "verify"), must(copied, "dvc", "status")], "all ", UP_TO_DATE)
    expect([must(copied, "snakemake", "--cores", "1", "all")], NOTHING)


def test_nothing_is_removed_or_recorded_while_another_snakemake_is_at_work(copied):
    page = copied.folder / "results/tables/results.md"
    page.write_text("written by its job, which is not noted yet")
    write_text(copied.folder / ".snakemake/locks/0.output.lock", "results/tables/results.md\n")
    before = (copied.folder / "dvc.lock").read_text()
    done = copied.run("dvc", "repro", "--single-item", "summarise")
    words = "axenat: results/tables/results.md is not as dvc.lock has it, and another Snakemake is at work here"
    assert done.returncode and words in done.stderr, done.stdout + done.stderr
    assert page.exists() and (copied.folder / "dvc.lock").read_text() == before


def test_what_dvc_has_kept_is_never_taken_for_a_change_by_hand(copied):
    """Somebody else's lock, with other sums for the same configuration: as from another kind of processor."""
    lock, page = copied.folder / "dvc.lock", copied.folder / "results/tables/results.md"
    md5 = outs_in(lock)["results/tables/results.md"]
    lock.write_text(lock.read_text().replace(md5, "a" * 32))
    before = page.stat().st_ino
    said = must(copied, "dvc", "repro", "--single-item", "summarise")
    assert NOTHING in said and "made again" not in said and page.stat().st_ino == before
    assert outs_in(lock)["results/tables/results.md"] == md5
    lock.write_text(lock.read_text().replace(md5, "a" * 32))
    must(copied, "axenat", "record")
    assert outs_in(lock)["results/tables/results.md"] == md5


def test_results_that_dvc_puts_back_are_taken_as_made(copied):
    shutil.rmtree(copied.folder / "results")
    must(copied, "dvc", "checkout")
    expect([must(copied, "snakemake", "--cores", "1", "all"), must(copied, "dvc", "repro")], NOTHING, UP_TO_DATE)


def test_a_clone_adopts_pulled_results_and_still_sees_what_changes(finished, tmp_path):
    must(finished, "dvc", "push")
    must(finished, "git", "clone", "-q", str(finished.folder), str(tmp_path / "clone"))
    clone = elsewhere(finished, tmp_path / "clone")
    must(clone, "axenat", "adopt")
    expect([must(clone, "snakemake", "--cores", "1", "all"), must(clone, "dvc", "repro")], NOTHING, UP_TO_DATE)
    config = clone.folder / "config/config.yaml"
    config.write_text(config.read_text().replace("skip_target_penalty: [2]", "skip_target_penalty: [2], eos: drop"))
    plan = clone.plan("all")
    assert plan["train"] == {"run=axe-delta2"} and "train_teacher" not in plan and "clean" not in plan
    done = clone.run("axenat", "adopt")
    assert done.returncode == 2 and "configure_run@axe-delta2" in done.stderr and "see dvc status" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_second_run_in_another_folder_gives_the_same_bytes(finished, tmp_path_factory, new_workshop):
    folder = tmp_path_factory.mktemp("second") / "deeper" / "elsewhere"
    folder.mkdir(parents=True)
    second = begin(new_workshop(folder, hash_seed=1))
    must(second, "snakemake", "--cores", "2", "all")
    assert (folder / "data.dvc").read_text() == (finished.folder / "data.dvc").read_text()
    first = outs_in(finished.folder / "dvc.lock")
    assert outs_in(folder / "dvc.lock") == first and len(first) > 60
    assert must(second, "axenat", "verify", "--lock", str(finished.folder / "dvc.lock"))
    damaged = ("results/runs/axe-delta2/model.safetensors", "results/corpora/demo/distilled/shards/1-of-2.json")
    for name in damaged:
        (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    done = second.run("axenat", "verify")
    told = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 1 and told.keys() == set(damaged)
    assert told[damaged[0]].startswith(f"expected {first[damaged[0]]}, found ")
