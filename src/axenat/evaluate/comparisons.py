"""Which runs a study compares, and with what result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from axenat.evaluate.analysis import repetition_counts
from axenat.evaluate.bleu import bleu_counts
from axenat.evaluate.seeds import may_be_paired
from axenat.evaluate.significance import both_tests, p_value_of_shares
from axenat.evaluate.study_record import StudyRecord
from axenat.files import UserError
from axenat.systems.registry import BASELINE, PROPOSED

Score = Mapping[str, Any]
# What a file must hold to be a score or the choice of a grid.
SCORE_KEYS = (
    "run", "corpus", "objective", "target_side", "split", "decode", "bleu", "signature", "hypothesis", "references"
)  # fmt: skip
CHOICE_KEYS = ("group", "key", "chosen", "candidates")


def mark_chosen(scores: Sequence[Score], choices: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add `chosen`: the winner of its grid, or a run that stands in no grid (nothing to choose from).

    A run of another training objective than the paper settled on stands for itself alone, and is never chosen.
    """
    winners = {choice["chosen"] for choice in choices}
    contenders = {candidate["run"] for choice in choices for candidate in choice["candidates"]}
    return [
        {**score, "chosen": (score["run"] in winners or score["run"] not in contenders) and not score.get("ablation")}
        for score in scores
    ]


def marked(study: StudyRecord) -> StudyRecord:
    """Scores, decodings and runs that say of themselves whether they are chosen. Whoever reads a study calls this."""
    runs = [{"run": run.name, "ablation": run.is_ablation} for run in study.runs]
    scores, decodings, told = (mark_chosen(each, study.choices) for each in (study.scores, study.decodings, runs))
    known = [replace(run, chosen=one["chosen"]) for run, one in zip(study.runs, told, strict=True)]
    return replace(study, scores=scores, decodings=decodings, runs=known)


def pairs_to_compare(scores: Sequence[Score]) -> Iterator[tuple[Score, Score]]:
    """Each chosen AXE run with the cross-entropy run of the same corpus, target side, split and decoding, and seed."""
    same = ("corpus", "target_side", "split", "decode")
    for a in scores:
        if a["objective"] != PROPOSED.name or not a["chosen"]:
            continue
        for b in scores:
            if b["objective"] != BASELINE.name or not b["chosen"] or not may_be_paired(a, b):
                continue
            if all(a[key] == b[key] for key in same):
                yield a, b


def compare(a: Score, b: Score, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The paired tests of two scores; `texts` holds the lines under the paths that the scores carry."""
    if a["references"] != b["references"]:
        raise UserError(f"{a['run']} and {b['run']} were scored on {a['split']} against different references")
    references = [texts[path] for path in a["references"]]
    tokenize = a.get("tokenize", "13a")
    counted = [bleu_counts(texts[score["hypothesis"]], references, tokenize=tokenize) for score in (a, b)]
    return {
        "split": a["split"],
        "a": a["run"],
        "b": b["run"],
        **both_tests(*counted),
        "p_value_repetition": _p_value_of_repetition(a, b, texts),
        "corpus": a["corpus"],
        "target_side": a["target_side"],
        "decode": a["decode"],
    }


def texts_of(score: Score) -> list[str]:
    """Where the lines are that `compare` asks for; scores from before name no subwords."""
    return [score["hypothesis"], *score["references"], *([score["subwords"]] if score.get("subwords") else [])]


def _p_value_of_repetition(a: Score, b: Score, texts: Mapping[str, Sequence[str]]) -> float | None:
    """Of subwords, whose rate the paper gives."""
    if not (a.get("subwords") and b.get("subwords")):
        return None
    return p_value_of_shares(*(repetition_counts(texts[score["subwords"]]) for score in (a, b)))
