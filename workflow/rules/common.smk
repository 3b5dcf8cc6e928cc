import json
import os
import re
import sys

from axenat import layout, needs, study_requests
from axenat.catalogue import CATALOGUE, FIGURE_NAMES, PAPER_ITEMS, TABLE_NAMES
from axenat.corpus_config import SPLITS
from axenat.dvc_stages import check_described
from axenat.files import UserError, read_yaml
from axenat.preflight.nodes import Limits, limits_of
from axenat.site import in_snakemake, read_site, within
from axenat.study import parse_study


def or_refuse(function, *arguments):
    """What a function returns; what it refuses is one sentence and exit code 2."""
    try:
        return function(*arguments)
    except UserError as error:
        print(f"axenat: {error}", file=sys.stderr)
        sys.exit(2)


for path in workflow.configfiles:  # of a key that stands twice, Snakemake has taken the last
    or_refuse(read_yaml, path)
STUDY = or_refuse(parse_study, config)
SITE = or_refuse(read_site, os.path.join(workflow.basedir, ".."))
RESOURCES = or_refuse(SITE.over, STUDY.resources)
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
    figure=one_of(FIGURE_NAMES),
    request=one_of(study_requests.REQUESTS),
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


def flag_of(name):
    """The flag of an input that not every job has; made of the input, so that it is no parameter of its own."""
    return lambda wildcards, input: f"--{name.replace('_', '-')} {input[name]}" if input[name] else ""


def runs_of_grid(*path):
    return lambda wildcards: [
        part.format(run=run) for run in STUDY.grids[wildcards.grid].runs for part in path
    ]


def cpus(stage, teacher=False):
    return RESOURCES.ask(stage, teacher=teacher).cpus


def asks(stage, teacher=False):
    """What a job of this stage asks of a cluster. No parameter: more memory makes no result stale."""
    return in_snakemake(stage, RESOURCES.ask(stage, teacher=teacher), SITE, room)


def room(partition):
    """What a job can be given there; where a profile or the command line name another partition, nothing is known."""
    said = workflow.resource_settings
    elsewhere = any("slurm_partition" in asked for asked in said.overwrite_resources.values())
    if elsewhere or (partition is None and "slurm_partition" in (said.default_resources or {})):
        return Limits()
    return limits_of(partition)


def with_input(asked, factor):
    """At least so many times the size of what is read."""
    first = asked["mem_mb"]

    def mem_mb(wildcards, input, attempt):
        there = room(asked.get("slurm_partition")).mem_mb if attempt > 1 else None
        read = within(attempt * factor * int(input.size_mb), SITE.most_mem_mb, there)
        return max(first(wildcards, attempt), read)

    return {**asked, "mem_mb": mem_mb}


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


def request_of(name):
    return study_requests.request_of(STUDY, name, PAPER, [CONFIG_README])


def forms_of(table):
    """Three for readers, which are in Snakemake's own report too, and one that the page is made from."""
    about = {"caption": "../report/table.rst", "category": "Tables"}
    form = lambda end, name: report(layout.table_file(table, end), labels={"table": table, "form": name}, **about)
    return [form("md", "Markdown"), form("csv", "CSV"), form("tex", "LaTeX"), layout.table_file(table, "table.json")]


def files_of_table(table):
    """With the figure of the same name, where there is one."""
    figure = [layout.figure_file(table, "svg")] if table in FIGURE_NAMES else []
    return [*(layout.table_file(table, ending) for ending in layout.TABLE_FORMS), *figure]
