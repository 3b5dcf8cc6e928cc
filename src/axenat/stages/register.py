"""`axenat register`: tuned models in MLflow's registry, ready to serve; the best on valid of a corpus is its champion.

The same model is registered once. Models that translate in parallel are versions of axenat-<corpus>, left-to-right ones
of axenat-<corpus>-teacher. The alias `champion` moves only to a better model, and only if `dvc status` is clean.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from axenat.evaluate.comparisons import CHOICE_KEYS
from axenat.files import UserError, read_record
from axenat.publishing.study import data_version
from axenat.serving.candidate import StaleError, candidate
from axenat.serving.pinned import why_unpinned
from axenat.serving.registry import register
from axenat.tracking import Tracker, reason_of, tracking_uri


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", nargs="+", help="names of runs (default: all that are tuned)")
    parser.add_argument(
        "--choices", nargs="*", type=Path,
        help="results of `axenat choose`, which keep out the runs that they passed over (default: all, unless --runs)",
    )  # fmt: skip
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--data", type=Path, default=Path("data"), help="raw text (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    tuned = sorted(path.parent.name for path in (args.results / "runs").glob("*/tuned.json"))
    choices = args.choices
    if choices is None:
        choices = [] if args.runs else sorted((args.results / "choices").glob("*.json"))
    runs = [run for run in args.runs or tuned if run not in _passed_over(choices)]
    if not runs:
        raise UserError(f"{args.results}/runs: no run is tuned yet; there is nothing to register")
    version = data_version(args.data.with_name(f"{args.data.name}.dvc"))
    candidates = []
    for run in runs:
        try:
            candidates.append(candidate(args.results / "runs" / run, args.data, version))
        except StaleError as error:
            print(error)
    try:
        for sentence in register(Tracker(tracking_uri()), candidates, why_unpinned):
            print(sentence)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"MLflow did not take the models ({reason_of(error)}); register again later") from None


def _passed_over(choices: Sequence[Path]) -> set[str]:
    """Runs of a grid of which another was chosen."""
    records = [read_record(path, *CHOICE_KEYS) for path in choices]
    return {one["run"] for record in records for one in record["candidates"]} - {record["chosen"] for record in records}
