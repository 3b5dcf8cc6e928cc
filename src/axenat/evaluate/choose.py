"""Picking a hyperparameter on the validation set: lambda of a run, delta of a grid of runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from axenat.files import UserError

RULE = "highest BLEU on valid; ties go to the smallest value"


def choose_best(candidates: Sequence[Mapping[str, Any]], key: str = "value") -> Mapping[str, Any]:
    """The candidate with the highest `bleu`; among equals the one with the smallest `key`."""
    scored = [candidate for candidate in candidates if candidate["bleu"] is not None]
    if not scored:
        raise UserError(f"no candidate for {key} has a BLEU score on valid; there is nothing to choose from")
    return min(scored, key=lambda candidate: (-candidate["bleu"], candidate[key]))


def choose_run(
    group: str,
    key: str,
    configs: Sequence[Mapping[str, Any]],
    tuned: Sequence[Mapping[str, Any]],
    analyses: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The winner of a grid: each run enters with its own tuned decoding; all candidates are kept."""
    if key == "seed":
        raise UserError(f"choice {group}: seeds are repeats of one run, whose mean counts; there is none to choose")
    tuned_of = {record["run"]: record for record in tuned}
    rate_of = {record["run"]: record.get("skip_target_rate") for record in analyses}
    candidates = []
    for config in configs:
        run = config["run"]
        if run not in tuned_of:
            raise UserError(f"choice {group}: run {run} has no tuned.json; give one for each run of the grid")
        record = tuned_of[run]
        candidates.append(
            {
                "run": run,
                "value": setting(config, key),
                "bleu": best_bleu(record),
                "length_multiplier": record["value"] if record["key"] == "length_multiplier" else None,
                "skip_target_rate": rate_of.get(run),
            }
        )
    chosen = choose_best(candidates)["run"]
    return {"group": group, "key": key, "chosen": chosen, "rule": RULE, "candidates": candidates}


def best_bleu(tuned: Mapping[str, Any]) -> float | None:
    """The valid BLEU a run reached with the value that tuning settled on."""
    return next((tried["bleu"] for tried in tuned["candidates"] if tried["value"] == tuned["value"]), None)


def setting(config: Mapping[str, Any], key: str) -> Any:
    """A run's value of `key`, in whichever section of its config the grid varies it."""
    for section in (config, *(config.get(name) or {} for name in ("objective", "train", "model"))):
        if key in section:
            return section[key]
    raise UserError(f"run {config.get('run')}: its config has no key {key}, so its grid cannot be compared")
