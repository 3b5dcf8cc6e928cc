"""Runs that differ in their seed alone are repeats of one another: none of them wins, their scores have a spread."""

from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

Score = Mapping[str, Any]
# What repeats have in common; their mean and standard deviation are taken of these.
SAME = ("split", "decode", "corpus", "objective", "target_side", "skip_target_penalty", "signature")
AVERAGED = ("bleu", "repetition", "repetition_words", "valid_share", "length_ratio")


def group_of(score: Score) -> str | None:
    """The name in the study of what was repeated, as `ce` for the run ce-seed3 with seed 3; None if it stands alone."""
    name, suffix = str(score["run"]), f"-seed{score.get('seed')}"  # as `study` names them
    return name.removesuffix(suffix) if name.endswith(suffix) else None


def may_be_paired(a: Score, b: Score) -> bool:
    """Two repeated runs are compared seed by seed; with a run that stands alone, each seed is."""
    return group_of(a) is None or group_of(b) is None or a["seed"] == b["seed"]


def first_seeds(scores: Sequence[Score]) -> list[Score]:
    """Where one run has to stand for all its repeats: that with the smallest seed, which no score has chosen."""
    least: dict[tuple[str, str], int] = {}
    for score in scores:
        if group := group_of(score):
            place = (group, score["split"])
            least[place] = min(score["seed"], least.get(place, score["seed"]))
    return [
        score for score in scores
        if (group := group_of(score)) is None or score["seed"] == least[group, score["split"]]
    ]  # fmt: skip


def over_seeds(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """One record for each repeated run and decoding: mean and standard deviation (n - 1) over its seeds."""
    groups: dict[tuple[Any, ...], list[Score]] = {}
    for score in scores:
        if group := group_of(score):
            groups.setdefault((group, *(score.get(key) for key in SAME)), []).append(score)
    return [_averaged(place[0], sorted(repeats, key=lambda each: each["seed"])) for place, repeats in groups.items()]


def _averaged(group: str, repeats: Sequence[Score]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "group": group,
        "runs": [repeat["run"] for repeat in repeats],
        "seeds": [repeat["seed"] for repeat in repeats],
        "num_seeds": len(repeats),
        **{key: repeats[0].get(key) for key in SAME},
    }
    for key in AVERAGED:
        values = [repeat.get(key) for repeat in repeats]
        known = [value for value in values if value is not None]
        whole = len(known) == len(values)  # a mean of some would not be that of the runs beside it
        record[f"{key}_mean"] = mean(known) if whole else None
        record[f"{key}_sd"] = stdev(known) if whole and len(known) > 1 else None
    return record
