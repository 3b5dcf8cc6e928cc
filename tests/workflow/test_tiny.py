"""The whole line for real: the tiny study from raw text to report, and what happens to it afterwards."""

import copy
import json
import re
import shutil
import sqlite3

import pytest
from torch.testing import assert_close

from axenat.catalogue import TABLE_NAMES
from axenat.estimates import space_of
from axenat.files import read_yaml
from axenat.study import parse_study
from tests.browser import needs_browser, running, visiting
from tests.golden.finished import finished_records
from tests.golden.store import problems
from tests.support import study_files
from tests.support.planned_jobs import jobs_in

pytestmark = pytest.mark.slow
TINY = ("--configfile", "config/tiny.yaml")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, new_workshop):
    workshop = new_workshop(tmp_path_factory.mktemp("tiny"))
    done = workshop.snakemake("--cores", "2", "all", *TINY)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return workshop


@pytest.fixture(scope="module")
def summary(finished):
    return json.loads((finished.folder / "results/summary.json").read_text())


def test_the_summary_holds_every_run_with_its_signature(summary):
    runs = {"teacher", "ce-raw", "axe-raw-delta1.5", "axe-raw-delta2", "ce-distilled", "axe-distilled"}
    assert {score["run"] for score in summary["scores"]} == runs
    for score in summary["scores"]:
        assert "nrefs:8" in score["signature"]
        assert score["bleu_low"] <= score["bleu"] <= score["bleu_high"]
        assert {"repetition", "skip_target_penalty", "length_multiplier", "chosen", "valid_share"} <= score.keys()


def test_what_no_processor_decides_is_as_it_was_recorded(finished):
    """Data, ids, names of weights, keys of results, parameters of rules; names in MLflow."""
    found = problems("finished", finished_records(finished.folder))
    assert not found, "\n".join(found)


def test_each_student_is_reported_with_one_length_candidate_too(finished, summary):
    decodings = {(score["run"], score["decode"]) for score in summary["decodings"]}
    own = {(score["run"], score["decode"]) for score in summary["scores"]}
    assert decodings - own == {(run, "ell1") for run, decode in own if decode == "ell2"}
    assert all(score["engine"] and score["precision"] == "float32" for score in summary["decodings"])
    assert "| ell1 |" in (finished.folder / "results/tables/decodings.md").read_text()


def test_another_decoding_to_report_decodes_that_and_nothing_else(finished):
    overlay = finished.overlay("recipes: {small: {decode: {also: [ell1, beam1]}}}")
    plan = finished.plan("all", *TINY, overlay)
    assert plan["translate"] == plan["score"] == {"run=teacher, split=test, decode=beam1"}
    assert plan.keys() == {
        "translate", "score", "speed", "summarise", "configure_request", "table", "table_of_speed", "report", "all"
    }  # fmt: skip
    assert plan["configure_request"] == {f"request={name}" for name in ("tables-decodings", "tables-seeds", "report")}


def test_every_table_is_there_in_every_form_and_the_clock_apart(finished):
    tables = {path.name for path in (finished.folder / "results/tables").iterdir()}
    for name in TABLE_NAMES:
        for form in ("md", "csv", "tex", "table.json"):
            assert (f"{name}.{form}" in tables) == (name != "speed")
    assert "published" in (finished.folder / "results/speed/speed.md").read_text()


def test_the_report_stands_alone(finished):
    page = (finished.folder / "results/report.html").read_text()
    assert "<svg" in page
    assert 'src="http' not in page and 'href="http' not in page
    assert 'id="missing"' not in page


def test_every_score_is_what_sacrebleu_prints_for_the_written_text(finished):
    written, printed = study_files.scores(finished.folder)
    # How many of them differ depends on the processor, since next to nothing is learnt.
    assert written == printed and len(set(written)) > 1


def test_what_is_tuned_is_the_best_of_what_was_tried_and_its_score_is_that_of_valid(finished):
    runs = finished.folder / "results/runs"
    for run in runs.iterdir():
        tuned, tried, allowed = study_files.tuning(run)
        assert set(tried) == allowed and tuned["bleu"] == tried[tuned["value"]] == max(tried.values())
    words = ("--model", "results/runs/axe-raw-delta2", "--input", "data/demo/valid.en", "--output", "valid.txt")
    assert finished.run("axenat", "translate", *words).returncode == 0
    (bleu,) = study_files.bleu_of([finished.folder / "valid.txt"], finished.folder / "data/demo", "valid")
    assert study_files.read(runs / "axe-raw-delta2/tuned.json")["bleu"] == bleu


def test_a_grid_chooses_the_run_that_is_best_on_valid(finished, summary):
    runs = ("axe-raw-delta1.5", "axe-raw-delta2")
    bleu = {run: study_files.read(finished.folder / f"results/runs/{run}/tuned.json")["bleu"] for run in runs}
    assert study_files.read(finished.folder / "results/choices/axe-raw.json")["chosen"] == max(runs, key=bleu.get)
    for score in summary["scores"]:
        assert score["chosen"] == (score["run"] not in runs or score["run"] == max(runs, key=bleu.get))


def test_a_difference_in_the_summary_is_that_of_the_two_scores(summary):
    bleu = {(score["run"], score["decode"]): score["bleu"] for score in summary["decodings"]}
    for one in summary["comparisons"]:
        assert one["difference"] == bleu[one["a"], one["decode"]] - bleu[one["b"], one["decode"]]


def test_each_split_keeps_its_own_number_of_lines(finished):
    found = study_files.num_lines(finished.folder)
    assert (found["valid"], found["test"]) == ({30}, {40})
    assert len(found["train"]) == 2 and max(found["train"]) == 1200, "the clean text has fewer lines than the raw one"


def test_a_model_is_the_mean_of_its_best_checkpoints(finished):
    for run in ("teacher", "axe-distilled"):
        assert_close(*study_files.averages(finished.folder / "results/runs" / run))


def test_distilled_targets_are_the_teachers_translations_of_the_train_source(finished):
    corpus = finished.folder / "results/corpora/demo"
    lines = study_files.distilled_lines(corpus)
    assert all(line in (shard, real) for line, shard, real in lines)
    manifest = study_files.read(corpus / "distilled/manifest.json")
    replaced, same = manifest["replaced_by_real"], manifest["same_as_real"]
    # An output that is the real target anyway may be kept or replaced: nobody can see it.
    assert replaced - same <= sum(line != shard for line, shard, _ in lines) <= replaced < len(lines) / 2
    source = "".join(f"{line}\n" for line in study_files.lines(corpus / "clean/train.source")[:8])
    model = ("--model", "results/runs/teacher", "--tokenised", "eight.tok", "--output", "eight.txt")
    assert finished.run("axenat", "translate", *model, stdin=source).returncode == 0
    assert study_files.lines(finished.folder / "eight.tok") == [shard for _, shard, _ in lines[:8]]


def test_ids_are_those_of_the_words_of_their_own_side(finished):
    corpus = finished.folder / "results/corpora/demo"
    for variant, text in (("raw", "clean"), ("distilled", "distilled")):
        assert study_files.words_of_ids(corpus, variant) == study_files.lines(corpus / text / "train.target")


def test_a_job_writes_the_same_bytes_from_its_declared_inputs_alone(finished, tmp_path):
    """One of each stage. A clock is never the same, `average` reads hidden state, `tune` and `analyse` read what
    `translate` reads."""
    jobs = jobs_in(finished.snakemake("-n", "--forceall", "all", "--cores", "2", *TINY).stdout)
    left_out = {"configure", "speed", "average", "tune", "analyse"}
    chosen = {job.stage: job for job in sorted(jobs, key=lambda job: job.name) if job.stage not in left_out}
    for stage, job in chosen.items():
        same = study_files.again(job, finished.folder, tmp_path / stage)
        assert all(same[path] for path in same if not re.search(r"provenance|results/speed|report", path)), (
            stage,
            same,
        )
    assert len(chosen) >= 13


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_report_of_a_real_study_works_in_a_real_browser(finished, width, scheme):
    path = finished.folder / "results/report.html"
    with running() as browser, visiting(browser, path, width, scheme) as visit:
        assert visit.overflow() == 0
        visit.page.locator(".pair:visible [data-target]").last.hover()
        assert "cost" in visit.page.locator(".pair:visible .told").inner_text()
        assert visit.requests == [path.resolve().as_uri()] and visit.complaints == []


def test_every_link_of_the_report_leads_to_a_file_beside_it(finished):
    page = (finished.folder / "results/report.html").read_text()
    links = set(re.findall(r'<a href="([^"#]+)"', page))
    assert {"tables/lengths.csv", "figures/training.svg"} <= links
    assert all((finished.folder / "results" / link).is_file() for link in links)


def test_snakemakes_own_report_has_captions_and_categories(finished):
    done = finished.snakemake("--report", "own.html", *TINY)
    assert done.returncode == 0, done.stderr[-3000:]
    own = (finished.folder / "own.html").read_text()
    captions = ("Loss over steps: thin line train, dots valid.", "The whole study tiny on one page")
    for words in ("Figures", "Tables", "Report", *captions):
        assert words in own


def test_a_second_run_does_nothing(finished):
    done = finished.snakemake("--cores", "2", "all", *TINY)
    assert "Nothing to be done" in done.stdout + done.stderr
    assert done.returncode == 0


def test_a_changed_delta_reruns_that_run_and_what_reads_it(finished):
    overlay = finished.overlay("runs: {axe-distilled: {objective: {skip_target_penalty: 2}}}")
    plan = finished.plan("all", *TINY, overlay)
    assert plan["train"] == {"run=axe-distilled"}
    assert plan["score"] == {f"run=axe-distilled, split=test, decode={decode}" for decode in ("ell2", "ell1")}
    assert plan.keys() == {
        "configure_run", "train", "average", "tune", "translate", "score", "analyse", "summarise", "speed", "table",
        "table_of_speed", "figure", "report", "all"
    }  # fmt: skip


def test_a_changed_decoding_trains_nothing(finished):
    overlay = finished.overlay("runs: {ce-raw: {decode: {length_multipliers: [1.0, 1.2]}}}")
    plan = finished.plan("all", *TINY, overlay)
    assert "train" not in plan and "average" not in plan
    assert plan["tune"] == {"run=ce-raw"}


def test_a_changed_teacher_reruns_the_distilled_side_and_not_the_raw_one(finished):
    overlay = finished.overlay("runs: {teacher: {train: {steps: 41}}}")
    plan = finished.plan("all", *TINY, overlay)
    assert plan["train_teacher"] == {"run=teacher"}
    assert plan["train"] == {"run=ce-distilled", "run=axe-distilled"}
    assert "clean" not in plan and "learn_subwords" not in plan


def test_forcerun_reruns_one_stage(finished):
    plan = finished.plan("all", *TINY, "--forcerun", "summarise")
    assert plan.keys() == {"summarise", "report", "all"}


def test_a_touched_file_with_the_same_content_reruns_nothing(finished):
    (finished.folder / "results/corpora/demo/clean/train.source").touch()
    assert finished.plan("all", *TINY) == {}


def test_a_raised_stage_version_reruns_that_stage(finished):
    path = finished.folder / "workflow/stage_versions.yaml"
    before = path.read_text()
    try:
        path.write_text(before.replace("\nscore: ", "\nscore: 1"))
        plan = finished.plan("all", *TINY)
    finally:
        path.write_text(before)
    assert "score" in plan and "train" not in plan and "translate" not in plan


def test_a_run_folder_translates_standard_input(finished):
    lines = "the old man buys a red car today .\n\nthe woman helps the boy.\n"
    done = finished.run("axenat", "translate", "--model", "results/runs/axe-raw-delta1.5", stdin=lines)
    assert done.returncode == 0, done.stderr
    translated = done.stdout.split("\n")
    assert len(translated) == 4 and translated[1] == ""


def test_mlflow_has_each_training_tuning_and_score(finished):
    with sqlite3.connect(finished.folder / "mlflow.db") as database:
        names = {name for (name,) in database.execute("select name from runs where lifecycle_stage = 'active'")}
        steps = database.execute("select count(distinct step) from metrics where key = 'train/loss'").fetchone()[0]
        commits = database.execute("select count(*) from tags where key = 'objective'").fetchone()[0]
        beneath = "select count(*) from latest_metrics where key like 'test/bleu/%'"
        scores = database.execute(beneath).fetchone()[0]
    for run in ("teacher", "ce-raw", "axe-raw-delta1.5", "axe-distilled"):
        assert {run, f"{run}/tune"} <= names
    assert {"ce-raw/score/test/ell2", "ce-raw/score/test/ell1", "teacher/score/test/beam2", "tiny"} <= names
    assert steps == 4 and commits and scores == 6, "one for each run, on the study"


def test_publishing_again_adds_no_run(finished):
    count = "select count(*) from runs where lifecycle_stage = 'active'"
    with sqlite3.connect(finished.folder / "mlflow.db") as database:
        before = database.execute(count).fetchone()
    done = finished.run("axenat", "publish", "--study", "tiny", "--runs", "teacher", "ce-raw")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(finished.folder / "mlflow.db") as database:
        assert database.execute(count).fetchone() == before


def test_a_missing_input_stops_with_its_name_and_leaves_nothing_half_written(finished):
    words = "--subwords results/corpora/demo/subwords --source none.en --target none.de --out half.safetensors"
    done = finished.run("axenat", "encode", *words.split())
    assert done.returncode == 2
    assert done.stderr.strip() == "axenat encode: none.en: no such file"
    assert not list(finished.folder.glob("*half*"))


def test_a_study_that_fails_leaves_a_report_of_what_there_is(finished, tmp_path_factory):
    """A run is lost and cannot be made again, for its data is damaged: the log says why, and so does the page."""
    folder = tmp_path_factory.mktemp("failed") / "study"
    shutil.copytree(finished.folder, folder, symlinks=True)
    failed = copy.copy(finished)
    failed.folder = folder
    shutil.rmtree(folder / "results/runs/ce-raw")
    (folder / "results/report.html").unlink()
    (folder / "results/corpora/demo/raw/train.safetensors").write_text("damaged")
    done = failed.snakemake("--cores", "2", "all", *TINY)
    assert done.returncode != 0
    assert "What there is so far, and what is missing: results/so-far/report.html" in done.stdout + done.stderr
    page = (folder / "results/so-far/report.html").read_text()
    top = page[: page.index('id="overview"')]
    assert re.search(r"logs/train/.*\.log: axenat train: .*train\.safetensors: not a whole id file", top)
    assert "ce-raw" in top and "axe-distilled" in page


def test_tuned_models_are_registered_but_for_those_that_a_grid_passed_over(finished, summary):
    with sqlite3.connect(finished.folder / "mlflow.db") as database:
        versions = database.execute("select name, value from model_version_tags where key = 'run'").fetchall()
        aliases = database.execute("select * from registered_model_aliases").fetchall()
    chosen = {score["run"] for score in summary["scores"] if score["chosen"]}
    expected = {(f"axenat-demo{'-teacher' if run == 'teacher' else ''}", run) for run in chosen}
    assert len(chosen) == 5 and sorted(versions) == sorted(expected)
    assert not aliases  # nothing here is under DVC


def test_a_study_takes_no_more_room_than_was_estimated(finished):
    files = [path for part in ("data", "results") for path in (finished.folder / part).rglob("*") if path.is_file()]
    space = space_of(parse_study(read_yaml(finished.folder / "config/tiny.yaml")), {})
    used = sum(path.stat().st_size for path in files)
    assert used < space.least < 20 * used
