"""`axenat check`: before a long run, is all there that it needs, and how long will it take?

A list of findings: ok, warning (good to know), problem (the study would fail now or later), with what to do about it.
Exit code 0 if the study can run, 2 if a problem stands in its way. Nothing is written, and nothing is fetched.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from axenat.files import UserError, read_mapping
from axenat.jobs import jobs_of
from axenat.preflight.asked import check_asked
from axenat.preflight.cluster import check_cluster, profile_named
from axenat.preflight.duration import check_duration
from axenat.preflight.findings import Finding, as_list, ok
from axenat.preflight.machine import check_machine
from axenat.preflight.origins import check_origins
from axenat.preflight.space import check_space
from axenat.preflight.store import check_store
from axenat.records import merge
from axenat.site import read_site
from axenat.study import Study, parse_study

DEMO = Path("config/config.yaml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--configfile", type=Path, nargs="+", default=[], help=f"as for snakemake (default: {DEMO})")
    parser.add_argument(
        "--profile", help="the profile that snakemake will be given, such as slurm"
        " (default: what SNAKEMAKE_PROFILE names)",
    )  # fmt: skip


def main(args: argparse.Namespace) -> None:
    study = read_study(args.configfile)
    named = args.profile or os.environ.get("SNAKEMAKE_PROFILE")
    findings = list(look_at(study, profile_named(named) if named else None))
    print("\n".join(as_list(findings)))
    problems = dict.fromkeys(finding.about for finding in findings if finding.level == "problem")
    if problems:
        raise UserError(f"the study cannot run yet: {', '.join(problems)}")
    num_warnings = sum(finding.level == "warning" for finding in findings)
    note = f", with {_counted(num_warnings, 'warning', 'warnings')}" if num_warnings else ""
    print(f"\nThe study can run{note}.")


def read_study(paths: Sequence[Path]) -> Study:
    """As the workflow reads it: a file that names a study is one of its own, any other is laid over the one here."""
    values: dict[str, object] = {}
    for path in paths:
        values = merge(values, read_mapping(path))
    return parse_study(values if "study" in values else merge(read_mapping(DEMO), values))


def look_at(study: Study, profile: Path | None) -> Iterator[Finding]:
    """The quick and certain first, estimates last."""
    here = Path()
    sizes = [_counted(len(study.corpora), "corpus", "corpora"), _counted(len(study.runs), "run", "runs")]
    yield ok("config", f"study {study.name}: {', '.join(sizes)}")
    jobs = {stage: number for stage, number in jobs_of(study).items() if number}
    listed = ", ".join(f"{stage} {number}" for stage, number in jobs.items())
    yield ok("jobs", f"{sum(jobs.values())} from nothing to report: {listed}")
    yield from check_machine(study, elsewhere=profile is not None)
    yield check_space(study, here)
    yield from check_origins(study)
    yield check_store(on_cluster=profile is not None)
    if profile:
        site = read_site()
        resources = site.over(study.resources)
        yield from check_cluster(profile, site, resources.by_rule())
        yield from check_asked(study, resources)
    yield check_duration(study, here / "results", here / "logs")


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
