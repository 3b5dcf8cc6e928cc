"""What Snakemake plans before anything has run."""

import json
import os
import re
import shutil
from typing import Any

import pytest

from axenat.catalogue import FIGURE_NAMES, TABLE_NAMES
from tests.stand_in import saying, stand_in
from tests.support.planned_jobs import jobs_in

STUDENTS = (
    "ce-raw", "axe-raw-delta1", "axe-raw-delta1.5", "axe-raw-delta2", "axe-raw-unobserved", "axe-raw-all-tokens",
    "ce-distilled", "axe-distilled",
)  # fmt: skip


def request_in(plan: str, name: str) -> dict[str, Any]:
    """What a job of a dry run is asked to do."""
    (job,) = [job for job in jobs_in(plan) if job.wildcards.get("request") == name]
    return json.loads(job.flags["--resolved"][0])


def test_the_demo_study_plans_every_stage(workshop):
    plan = workshop.plan("all")
    stages = {"clean", "learn_subwords", "encode", "train", "average", "tune", "distil", "gather", "translate"}
    assert (
        stages
        | {"download_demo_train", "score", "analyse", "choose", "summarise", "table", "speed", "figure", "report"}
        <= plan.keys()
    )
    assert plan["train_teacher"] == {"run=teacher"}
    assert {"run=ce-raw", "run=ce-distilled"} <= plan["train"]
    assert plan["figure"] == {f"figure={name}" for name in FIGURE_NAMES}


def test_the_report_counts_the_jobs_that_are_planned(workshop):
    counted = request_in(workshop.snakemake("-n", "results/report.html").stdout, "report")["jobs"]
    planned = dict.fromkeys(counted, 0)
    for rule, jobs in workshop.plan("all").items():
        stages = [stage for stage in counted if rule.startswith((stage, stage.removesuffix("s")))]
        if stages:
            planned[stages[0]] += len(jobs)
    assert planned == counted


def test_a_figure_is_a_target_that_needs_only_what_it_is_drawn_from(workshop):
    plan = workshop.plan("results/figures/training.svg")
    assert plan["figure"] == {"figure=training"}
    assert "train" in plan and "score" not in plan and "tune" not in plan
    assert "analyse" not in workshop.plan("results/figures/repetitions.svg")


def test_what_there_is_so_far_can_be_asked_for_at_any_time(workshop):
    plan = {"configure_request": {"request=report_so_far"}, "report_so_far": {""}}
    assert workshop.plan("report_so_far") == plan


def test_each_student_is_also_scored_with_one_length_candidate_and_not_analysed(workshop):
    plan = workshop.plan("all")
    students = {f"run={run}, split=test, decode=ell5" for run in STUDENTS}
    further = {job.replace("ell5", "ell1") for job in students}
    teacher = {"run=teacher, split=test, decode=beam5"}
    assert plan["score"] == plan["translate"] == teacher | students | further
    assert plan["analyse"] == teacher | students


def test_further_decodings_are_those_that_the_study_names_for_runs_that_they_fit(workshop):
    overlay = workshop.overlay(
        "recipes: {small: {decode: {also: [beam1]}}}\nruns: {ce-raw: {decode: {also: [ell5-t4]}}}"
    )
    further = workshop.plan("all")["score"] ^ workshop.plan("all", "--configfile", overlay)["score"]
    added = {("run=teacher", "decode=beam1"), ("run=ce-raw", "decode=ell5-t4")}
    assert further == {f"run={run}, split=test, decode=ell1" for run in STUDENTS} | {
        f"{run}, split=test, {decode}" for run, decode in added
    }


def test_the_slurm_profile_plans_the_same_jobs_from_the_root(workshop):
    assert workshop.plan("--profile", "slurm", "all") == workshop.plan("all")


def test_a_slurm_that_does_not_answer_is_one_sentence(workshop, monkeypatch):
    for command in ("sbatch", "sinfo", "scontrol", "squeue", "sacct", "sacctmgr"):
        stand_in(workshop.folder / "bin", command, saying("", code=1))
    monkeypatch.setenv("PATH", f"{workshop.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    done = workshop.snakemake("--profile", "slurm", "all")
    assert done.returncode == 2
    assert "axenat: Slurm: sinfo names no partition; ask whether the cluster is up: sinfo; scontrol ping" in done.stderr
    assert "Traceback" not in done.stderr and not (workshop.folder / "results").exists()


HIDING = """import pkgutil
every = pkgutil.iter_modules
pkgutil.iter_modules = lambda *words: (one for one in every(*words) if "plugin_slurm" not in one.name)
"""


def test_a_missing_plugin_is_one_sentence(workshop, monkeypatch):
    """Without this Snakemake prints all of its options."""
    (workshop.folder / "hidden").mkdir()
    (workshop.folder / "hidden/sitecustomize.py").write_text(HIDING)
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(workshop.folder / "hidden"), known))))
    done = workshop.snakemake("--profile", "slurm", "all")
    assert done.returncode == 2
    assert "axenat: Slurm: the plugin snakemake-executor-plugin-slurm is not installed; pip install" in done.stderr
    assert "usage:" not in done.stderr and "Traceback" not in done.stderr


def test_a_single_file_is_a_target_of_its_own(workshop):
    plan = workshop.plan("results/runs/ce-raw/best.json")
    assert plan["train"] == {"run=ce-raw"}
    assert "distil" not in plan


def test_a_run_that_starts_from_another_waits_for_its_weights_alone(workshop):
    overlay = workshop.overlay("runs: {ce-raw: {start_from: teacher}}")
    plan = workshop.plan("results/runs/ce-raw/best.json", "--configfile", overlay)
    assert plan["train_teacher"] == plan["average_teacher"] == {"run=teacher"}
    assert plan["train"] == {"run=ce-raw"} and "tune_teacher" not in plan


def test_the_workflow_passes_snakemakes_own_lint(workshop):
    done = workshop.snakemake("--lint")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("overlay", "sentence"),
    [
        ("nonsense: 1", "nonsense is not a known key; allowed are"),
        ("runs: {ce-raw: {train: {peak_lr: 5e-4}}}", "runs.ce-raw.train.peak_lr must be a number"),
        ("runs: {ce-raw: {train: {steps: many}}}", "runs.ce-raw.train.steps must be a whole number"),
        ("runs: {axe-raw: {objective: {skip_target_penalty: 0.5}}}", "skip_target_penalty must be >= 1"),
        ("runs: {ce-raw: {recipe: none-such}}", "unknown recipe 'none-such'; known are"),
        (
            "tables: [lengths, none-such]",
            "must be one of axe_against_ce, systems, target_sides, training_objectives",
        ),
        ("published: wmt15-en-de", "published must be one of wmt14-en-de, wmt14-de-en, wmt16-en-ro"),
        ("corpora: {demo: {distil: {teacher: none-such}}}", "unknown run 'none-such'; known are"),
    ],
)
def test_a_bad_configuration_is_refused_in_one_sentence_when_the_graph_is_made(workshop, overlay, sentence):
    done = workshop.snakemake("-n", "all", "--configfile", workshop.overlay(overlay))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert not (workshop.folder / "results").exists()


def test_a_file_laid_over_the_study_leaves_its_runs_in_order(workshop):
    overlay = workshop.overlay("runs: {new: {recipe: small}, axe-distilled: {objective: {skip_target_penalty: 3}}}")
    plain, overlaid = (
        request_in(workshop.snakemake("-n", "all", *more).stdout, "report")["runs"]
        for more in ((), ("--configfile", overlay))
    )
    assert overlaid == [*plain, "results/runs/new"]


def test_a_file_is_laid_over_the_demo_study_in_any_working_folder(workshop, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    overlay = workshop.overlay("note: from far away")
    done = workshop.snakemake("-n", "all", "--directory", str(elsewhere), "--configfile", overlay)
    assert done.returncode == 0, done.stderr
    said = request_in(done.stdout, "report")
    assert (said["study"], said["note"]) == ("demo", "from far away")


def test_a_working_folder_with_a_study_of_its_own_uses_that(workshop, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "config").mkdir()
    shutil.copy(workshop.folder / "config/tiny.yaml", elsewhere / "config/config.yaml")
    plan = workshop.snakemake("-n", "all", "--directory", str(elsewhere)).stdout
    assert request_in(plan, "report")["study"] == "tiny"


@pytest.mark.parametrize("called_from_a_shell", [True, False])
def test_a_profile_lies_where_snakemake_was_called(
    workshop, tmp_path_factory, monkeypatch, called_from_a_shell
) -> None:
    """A shell tells where that is, for work elsewhere; who starts a process in another folder does not."""
    tmp_path = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setenv("PWD", str(workshop.folder if called_from_a_shell else tmp_path))
    elsewhere = ["--directory", str(tmp_path)] if called_from_a_shell else []
    done = workshop.snakemake("-n", "all", "--profile", "slurm", *elsewhere)
    assert done.returncode == 0 and "rule train:" in done.stdout, done.stderr


def test_no_profile_can_be_asked_for(workshop, monkeypatch) -> None:
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "slurm")
    assert workshop.snakemake("-n", "all", "--profile", "none").returncode == 0


def test_a_profile_is_found_where_no_shell_tells_the_place_of_the_call(workshop, tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setenv("PWD", "/nowhere")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "slurm").mkdir()
    done = workshop.snakemake("-n", "all", "--profile", "slurm", "--directory", str(elsewhere))
    assert done.returncode == 0 and "rule train:" in done.stdout, done.stderr


def test_a_key_that_stands_twice_in_a_study_is_refused(workshop) -> None:
    path = workshop.overlay("recipes: {small: {train: {steps: 30, steps: 40}}}")
    done = workshop.snakemake("-n", "all", "--configfile", path)
    assert done.returncode == 2 and "overlay.yaml: not valid YAML (steps stands here twice" in done.stderr, done.stderr


def test_an_unknown_run_is_named_with_the_known_ones(workshop):
    done = workshop.snakemake("-n", "results/runs/none-such/tuned.json")
    assert done.returncode == 2
    assert "unknown run 'none-such'; known are teacher, ce-raw" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("trane",), ("all", "--until", "encode", "trane"), ("all", "--forcerun=trane"), ("all", "-O", "trane"),
     ("--cores", "1", "trane")],
)  # fmt: skip
def test_an_unknown_rule_is_named_with_the_known_ones(workshop, arguments):
    done = workshop.snakemake("-n", *arguments)
    assert done.returncode == 2
    assert re.search("unknown rule 'trane'; known are .*train.*, all", done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--cores", "1", "--", "results/runs/ce-raw/best.json"),
        ("all", "-U", "encode", "--configfile", "config/tiny.yaml"),
        ("all", "-R", "score", "results/summary.json", "--omit-from", "report"),
    ],
)
def test_rules_and_files_that_exist_are_taken_wherever_they_stand(workshop, arguments):
    workshop.plan(*arguments)


def test_a_decoding_that_the_run_does_not_have_is_refused_with_its_own(workshop):
    done = workshop.snakemake("-n", "results/runs/ce-raw/test/ell7.score.json")
    assert done.returncode == 2
    assert "unknown decoding 'ell7' of ce-raw; allowed are ell5, ell1" in done.stderr


def test_every_rule_has_a_log_a_benchmark_resources_and_an_environment(workshop):
    for path in sorted((workshop.folder / "workflow/rules").glob("*.smk")):
        for block in re.split(r"\n(?=(?:    )?rule)", path.read_text())[1:]:
            for directive in ("log:", "benchmark:", "resources:", "conda:"):
                assert directive in block, f"{path.name}: {block.splitlines()[0]} has no {directive}"


def test_config_values_reach_the_shell_quoted(workshop):
    overlay = workshop.overlay('note: "it\'s $(touch pwned) `touch pwned`; touch pwned"')
    done = workshop.snakemake("-n", "all", "--configfile", overlay)
    assert done.returncode == 0
    assert request_in(done.stdout, "report")["note"] == "it's $(touch pwned) `touch pwned`; touch pwned"


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ('""', None),
        ("null", None),
        ("-n is no flag here", "-n is no flag here"),
        ('"the set {a, b}"', "the set {a, b}"),
    ],
)
def test_any_note_or_none_reaches_the_report_as_it_is(workshop, note, told):
    done = workshop.snakemake("-n", "results/report.html", "--configfile", workshop.overlay(f"note: {note}"))
    assert done.returncode == 0, done.stderr
    assert request_in(done.stdout, "report").get("note") == told


def test_the_study_says_how_many_shards_train_is_distilled_in_and_they_meet_in_one_job(workshop):
    plan = workshop.plan("all", "--configfile", workshop.overlay("corpora: {demo: {distil: {shards: 7}}}"))
    assert plan["distil"] == {f"corpus=demo, shard={number}-of-7" for number in range(1, 8)}
    assert plan["gather"] == {"corpus=demo"}


def test_valid_and_test_are_never_distilled(workshop):
    sources = re.findall(r"axenat distil .*--source (\S+)", workshop.snakemake("-n", "all").stdout)
    assert set(sources) == {"results/corpora/demo/clean/train.source"}
    files = [f"results/corpora/demo/distilled/{split}" for split in ("valid", "test")]
    for file in files:
        assert workshop.snakemake("-n", f"{file}.target").returncode != 0
    plan = workshop.plan(*(f"{file}.safetensors" for file in files))
    assert not {"distil", "gather"} & plan.keys()


def test_every_item_of_the_paper_is_a_target_that_needs_only_its_own_runs(workshop):
    """A plan in each case: what Table 6 needs has no teacher, what Table 5 needs no cross entropy."""
    grid = {"run=axe-raw-delta1", "run=axe-raw-delta1.5", "run=axe-raw-delta2"}
    ablations = {"run=axe-raw-unobserved", "run=axe-raw-all-tokens"}
    own = {f"run={run}" for run in STUDENTS} - ablations
    expected = {
        "table2": own, "table3": {"run=ce-distilled", "run=axe-distilled"}, "table4": own,
        "table5": grid | ablations | {"run=axe-distilled"}, "table6": grid, "table7": own, "table8": own,
        "figure3": own, "table9": own,
    }  # fmt: skip
    for item, runs in expected.items():
        plan = workshop.plan(item)
        assert plan["train"] == runs, item
        assert len(plan["table"]) == 1 and "report" not in plan and "summarise" not in plan
        assert ("score" in plan) == (item not in ("table5", "table6", "table7")), item
        assert ("analyse" in plan) == (item in ("table8", "figure3")), item
    assert "distil" not in workshop.plan("table6")


def test_tables_is_all_that_the_study_asks_for_and_says_what_it_lacks(workshop):
    plan = workshop.plan("tables")
    assert len(plan["table"]) == len(TABLE_NAMES) - 1  # speed has a rule of its own
    assert "table_of_speed" in plan and "report" not in plan
    said = workshop.snakemake("-n", "tables").stderr
    assert "axenat: table3 (systems) needs a run like teacher with target_side: distilled" in said
    assert "table5" not in said
    tiny = workshop.snakemake("-n", "table5", "--configfile", "config/tiny.yaml").stderr
    assert "needs a run like axe-raw with objective.observe: none and objective.score: all" in tiny
    assert "table3" not in tiny
    few = workshop.plan("tables", "--configfile", workshop.overlay("tables: [lengths]"))
    assert few["table"] == {"table=lengths"} and "table_of_speed" not in few


def test_the_whole_paper_is_planned_for_english_and_german(workshop):
    plan = workshop.plan("tables", "--configfile", "config/wmt14-en-de.yaml")
    assert plan["train_teacher"] == {"run=teacher"}
    deltas = {f"run=axe-{side}-delta{delta}" for side in ("raw", "distilled") for delta in range(1, 6)}
    others = {
        "ce-raw",
        "ce-distilled",
        "base-raw",
        "base-distilled",
        "axe-distilled-unobserved",
        "axe-distilled-all-tokens",
    }
    assert plan["train"] == deltas | {f"run={run}" for run in others}
    done = workshop.snakemake("-n", "tables", "--configfile", "config/wmt14-en-de.yaml")
    column = {"wmt14-en-de": "wmt14-en-de"}
    assert request_in(done.stdout, "tables-systems")["paper_columns"] == column and "needs a run" not in done.stderr


def test_nothing_that_chooses_ever_reads_test(workshop):
    """Lambda, delta and the length penalty are tuned on valid: no job before `translate` has a file of test."""
    shown = workshop.snakemake("-n", "all").stdout
    jobs = {
        rule: [] for rule in ("train", "train_teacher", "average", "tune", "tune_teacher", "choose", "distil", "gather")
    }
    for block in re.split(r"\n(?=\[)", shown):
        rule = re.search(r"^(?:local)?rule (\w+):", block, re.MULTILINE)
        if rule and rule[1] in jobs:
            jobs[rule[1]].append(block)
    for rule, blocks in jobs.items():
        assert blocks, rule
        for block in blocks:
            used = re.search(r"^    input: (.*)$", block, re.MULTILINE)[1] + re.search(r"Shell command: (.*)", block)[1]
            assert not re.search(r"\btest\b", used), block
    for block in [*jobs["tune"], *jobs["tune_teacher"]]:
        assert "results/corpora/demo/clean/valid.source" in block
