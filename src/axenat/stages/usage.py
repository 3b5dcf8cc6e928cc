"""`axenat usage`: after a run, what its jobs asked for against what they used, and what to ask for next time.

Call it in the folder that Snakemake worked in, with the same configuration files.
"""

import argparse
from dataclasses import asdict
from pathlib import Path

from axenat.files import UserError, write_json
from axenat.preflight.accounting import jobs_in_slurm, rules_in_logs, workflows_of
from axenat.preflight.asked import jobs_by_rule
from axenat.preflight.usage import as_table, as_yaml, benchmarks, in_order, notes, rows_of, suggested
from axenat.site import read_site
from axenat.stages.check import DEMO, read_study

RESULTS, LOGS, SLURM_LOGS, WORKFLOWS = Path("results"), Path("logs"), Path("slurm_logs"), Path(".snakemake/log")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--configfile", type=Path, nargs="+", default=[], help=f"as for snakemake (default: {DEMO})")
    parser.add_argument("--json", type=Path, help="where the same goes for programs")


def main(args: argparse.Namespace) -> None:
    study, site = read_study(args.configfile), read_site()
    asks = in_order(study, site.over(study.resources).by_rule())
    measured, passed_over = benchmarks(study, RESULTS, LOGS)
    accounted = jobs_in_slurm(workflows_of(WORKFLOWS), rules_in_logs(SLURM_LOGS), asks)
    rows = rows_of(asks, [*measured, *(accounted or [])], site)
    if not rows:
        raise UserError(f"{LOGS.resolve()}: no benchmarks; call this where Snakemake worked, after a run")
    better = suggested(rows, {rule: ask for rule, ask in asks.items() if jobs_by_rule(study)[rule]})
    print("\n".join([*as_table(rows), "", *notes(rows, better, passed_over, accounted)]))
    if better:
        print("\n".join(["", *as_yaml(better)]))
    if args.json:
        known = {"passed_over": passed_over, "jobs_in_slurm": None if accounted is None else len(accounted)}
        write_json(
            args.json, {"study": study.name, "rules": [asdict(row) for row in rows], "resources": better, **known}
        )
