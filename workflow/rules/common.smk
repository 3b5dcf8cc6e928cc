import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from snakemake.cli import parse_args

from axenat import layout, needs
from axenat.config import PAPER_ITEMS, TABLE_NAMES
from axenat.corpus_config import SPLITS
from axenat.dvc_stages import check_described
from axenat.files import UserError, read_yaml
from axenat.jobs import jobs_of
from axenat.preflight.cluster import check_cluster, refuse_problems
from axenat.resources import resources_of
from axenat.site import in_snakemake, read_site
from axenat.study import parse_study


def or_refuse(function, *arguments):
    """What a function returns; what it refuses is one sentence and exit code 2."""
    try:
        return function(*arguments)
    except UserError as error:
        print(f"axenat: {error}", file=sys.stderr)
        sys.exit(2)


STUDY = or_refuse(parse_study, config)
SITE = or_refuse(read_site, os.path.join(workflow.basedir, ".."))
RESOURCES = or_refuse(resources_of, STUDY.resources, SITE.resources)
if SITE.modules and "SLURM_JOB_ID" in os.environ:  # in a job; it takes the place of Snakemake's own prefix
    shell.prefix(f"set -euo pipefail; {SITE.prefix}")
INSIDE_DVC = "DVC_STAGE" in os.environ
if INSIDE_DVC:
    or_refuse(check_described)
VERSIONS = read_yaml(workflow.source_path("../stage_versions.yaml"))
ENVIRONMENT = "../../environment.yml"
PAPER = os.path.relpath(os.path.join(workflow.basedir, "..", "config/paper.yaml"))
PLACES = layout.archives_by_place(STUDY)
os.environ.update(AXENAT_STUDY=STUDY.name)  # a training tells MLflow whose it is; no parameter, so nothing goes stale
CONFIG_README = os.path.relpath(os.path.join(workflow.basedir, "..", "config/README.md"))


def one_of(names):
    return "|".join(map(re.escape, names)) or "(?!)"  # a pattern that nothing matches


wildcard_constraints:
    corpus=one_of(STUDY.corpora),
    run=one_of(STUDY.runs),
    grid=one_of(STUDY.grids),
    figure=one_of(layout.FIGURE_NAMES),
    variant="raw|distilled",
    split="train|valid|test",
    shard="[0-9]+-of-[0-9]+",
    decode=one_of({name for run in STUDY.runs.values() for name in run.decode_names}),


def of_corpus(function, *arguments):
    """An input function from one of layout's, for rules about a corpus."""
    return lambda wildcards: function(STUDY, wildcards.corpus, *_fill(arguments, wildcards))


def of_run(function, *arguments):
    return lambda wildcards: function(STUDY, wildcards.run, *_fill(arguments, wildcards))


def of_run_corpus(function, *arguments):
    return lambda wildcards: function(STUDY, STUDY.runs[wildcards.run].corpus, *_fill(arguments, wildcards))


def _fill(arguments, wildcards):
    """A name in braces stands for that wildcard."""
    return [argument.format(**wildcards) for argument in arguments]


def subwords_of_run(wildcards):
    return layout.subwords(STUDY.runs[wildcards.run].corpus)


def text_rules_of_run(wildcards):
    return f"results/corpora/{STUDY.runs[wildcards.run].corpus}/subwords/text.yaml"


def analysis_of_run(wildcards):
    return f"results/corpora/{STUDY.runs[wildcards.run].corpus}/config/analysis.yaml"


def resolved(kind, stage):
    """The keys that a stage depends on, as a parameter: changing another key reruns nothing."""
    return lambda wildcards: json.dumps(STUDY.section(kind, wildcards[0], stage.format(**wildcards)))


def runs_of_grid(*path):
    return lambda wildcards: [
        part.format(run=run) for run in STUDY.grids[wildcards.grid].runs for part in path
    ]


def cpus(stage, teacher=False):
    return RESOURCES.ask(stage, teacher=teacher).cpus


def asks(stage, teacher=False):
    """What a job of this stage asks of a cluster. No parameter: more memory makes no result stale."""
    return in_snakemake(stage, RESOURCES.ask(stage, teacher=teacher), SITE)


def with_input(asked, factor):
    """At least so many times the size of what is read."""
    first, most = asked["mem_mb"], SITE.most_mem_mb or float("inf")
    return {
        **asked,
        "mem_mb": lambda wildcards, input, attempt: max(
            first(wildcards, attempt), min(most, attempt * factor * int(input.size_mb))
        ),
    }


def outputs(ending, split="test", runs=None):
    return [layout.output(STUDY, run, split, ending) for run in runs or STUDY.runs]


def further_outputs(ending, split="test"):
    return [path for run in STUDY.runs for path in layout.further_outputs(STUDY, run, split, ending)]


def test_sources():
    """For each decoding whose speed is measured."""
    return [
        layout.raw_text(STUDY, STUDY.runs[run].corpus, "test", "source") for run, _ in needs.side_by_side(STUDY)
    ]


def table_in(wildcards):
    return wildcards.get("table", "speed")


def records_of_table(wildcards):
    return layout.table_inputs(STUDY, table_in(wildcards))


def files_of_table(table):
    """With the figure of the same name, where there is one."""
    figure = [layout.figure_file(table)] if table in layout.FIGURE_NAMES else []
    return [*(layout.table_file(table, ending) for ending in ("md", "csv", "tex")), *figure]


def tell_lacking():
    """Who asks for tables is told which runs the study would need for the whole of them."""
    asked = set(asked_for())
    for table in TABLE_NAMES:
        item = PAPER_ITEMS.get(table, table)
        if item in asked or ("tables" in asked and table in STUDY.tables):
            for sentence in needs.lacking(STUDY, table):
                print(f"axenat: {item} ({table}) {sentence}", file=sys.stderr)


def command_line():
    """What Snakemake was called with, profiles included; the workflow itself learns it only later."""
    if "snakemake" not in sys.argv[0] or "--target-jobs" in sys.argv:  # called as a library, or by itself for a job
        return None
    with contextlib.redirect_stderr(io.StringIO()):  # it says once more which profiles it uses
        return parse_args(sys.argv[1:])[1]


def asked_for():
    """Targets, and what --until and its like name."""
    words = command_line()
    return [*words.targets, *words.until, *words.forcerun, *words.omit_from] if words else []


def check_slurm():
    """Before the first job is sent: what would make all of them fail."""
    words = command_line()
    if words and words.executor == "slurm" and not words.dryrun:
        refuse_problems(check_cluster(Path(words.profile[0]), SITE, RESOURCES.by_rule()))


def publish():
    """Mirror the files to MLflow; a store that is away never fails a workflow."""
    if os.environ.get("DVC_STAGE", "report") != "report":  # DVC starts a workflow for each stage; the last tells it all
        return
    further = ["--further", *further_outputs("score.json")]
    words = ["--study", STUDY.name, "--runs", *STUDY.runs, *further, "--patience", "600"]
    subprocess.run(["axenat", "publish", *words])


def report_so_far_words():
    """All that a report of this study is made of, there or not."""
    flags = {
        "runs": [f"results/runs/{run}" for run in STUDY.runs],
        "scores": outputs("score.json"),
        "further": further_outputs("score.json"),
        "analyses": outputs("analysis.json"),
        "choices": layout.choices(STUDY),
        "origins": layout.origins(STUDY),
        "raw": layout.raw_counts(STUDY),
        "counts": layout.clean_counts(STUDY),
        "speed": [layout.SPEED],
        "teachers": STUDY.teachers,
        "paper": [PAPER],
        "own": [f"{corpus}={column}" for corpus, column in needs.paper_columns(STUDY).items()],
        "published": [STUDY.published],
        "documents": [CONFIG_README],
        "jobs": [json.dumps(jobs_of(STUDY))],
    }
    words = [word for flag, values in flags.items() for word in (f"--{flag}", *values)]
    own = ["--out", "results/so-far", "--names", *STUDY.tables, "--"]
    return [*own, "--study-name", STUDY.name, f"--note={STUDY.note}", *words]


def report_so_far():
    """What a failed study has by now; this must never hide why it failed."""
    subprocess.run(["axenat", "report_so_far", *report_so_far_words()])


def asked_for_all():
    """Is the whole study up to date now, or only the part that was asked for?"""
    asked = workflow.dag_settings
    return set(asked.targets) <= {"all"} and not (asked.until or asked.omit_from or asked.batch)


def record():
    """Write dvc.yaml and dvc.lock, if all of the study in config/config.yaml is up to date, and not from inside DVC."""
    if asked_for_all() and os.path.exists("dvc.yaml") and not INSIDE_DVC:
        if STUDY == parse_study(read_yaml("config/config.yaml")):
            subprocess.run(["axenat", "describe"])
            subprocess.run(["axenat", "record"])


def register():
    """Tuned models in MLflow's registry; DVC, which says whether they can be relied on, must not be at work."""
    if asked_for_all() and not INSIDE_DVC:
        subprocess.run(["axenat", "register", "--runs", *STUDY.runs, "--choices", *layout.choices(STUDY)])
