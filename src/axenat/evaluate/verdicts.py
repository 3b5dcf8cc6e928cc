"""What the paper found, and whether a study shows it: its records in, a list of verdicts in words out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from axenat.evaluate.contrasts import named, pairs, places, representatives, unanalysed, unscored
from axenat.evaluate.study_record import Record, StudyRecord
from axenat.evaluate.table_parts import delta, of_ablation
from axenat.evaluate.table_parts import place as place_of
from axenat.systems.registry import label_of

YES, NO, UNKNOWN, IN_PART = "yes", "no", "cannot be told", "in part"
CHANCE = 0.05  # a difference that chance alone makes more often is not shown
FEWEST = 10  # sentences of a length bucket that says anything


@dataclass(frozen=True, kw_only=True)
class Finding:
    place: str
    answer: str  # YES, NO or UNKNOWN
    words: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    claim: str
    paper: str  # where, and how much there
    findings: tuple[Finding, ...]

    @property
    def answer(self) -> str:
        """Of all findings that say anything."""
        known = {finding.answer for finding in self.findings} - {UNKNOWN}
        return IN_PART if len(known) > 1 else next(iter(known), UNKNOWN)


def verdicts(study: StudyRecord) -> list[Verdict]:
    """In the order of the paper."""
    return [
        Verdict(claim=claim, paper=paper, findings=tuple(find(study)) or (_nothing(study, otherwise),))
        for claim, paper, find, otherwise in CLAIMS
    ]


def _nothing(study: StudyRecord, otherwise: str) -> Finding:
    unknown = [run.name for run in study.runs if not run.config]
    words = f"nothing is known of {', '.join(unknown)}" if unknown else otherwise
    return Finding(place=f"study {study.name}", answer=UNKNOWN, words=words)


def _told(place: str, shown: bool, words: str, p_value: float | None = None) -> Finding:
    """Without a test the sign decides."""
    by_chance = p_value is not None and p_value >= CHANCE
    words += "" if p_value is None else f" (p = {p_value:.{3 if p_value >= 0.0005 else 4}f})"  # never p = 0.000
    words += ", which chance may explain" if by_chance and shown else ""
    return Finding(place=place, answer=YES if shown and not by_chance else NO, words=words)


def axe_above_ce(study: StudyRecord) -> Iterator[Finding]:
    p_values = _p_values(study, "p_value")
    for place in places(study):
        if lacking := unscored(study, place):
            yield Finding(place=named(study, place), answer=UNKNOWN, words=lacking)
        for axe, ce in pairs(study, place):
            difference = axe["bleu"] - ce["bleu"]
            p_value = p_values.get((axe["run"], ce["run"], axe["split"]))
            words = f"{axe['run']} is {_apart(difference)} {ce['run']}"
            yield _told(named(study, place), difference > 0, words, p_value)


def _p_values(study: StudyRecord, key: str) -> dict[tuple[str, str, str], float | None]:
    return {(test["a"], test["b"], test["split"]): test.get(key) for test in study.comparisons}


def _apart(difference: float) -> str:
    return f"{abs(difference):.2f} BLEU {'above' if difference >= 0 else 'below'}"


def more_so_on_long_sentences(study: StudyRecord) -> Iterator[Finding]:
    for place, axe, ce in _analysed(study, "buckets"):
        if isinstance(axe, str):
            yield Finding(place=place, answer=UNKNOWN, words=axe)
            continue
        of_ce = {(bucket["low"], bucket["high"]): bucket["bleu"] for bucket in ce["buckets"]}
        gaps = [
            (bucket["bleu"] - of_ce[bucket["low"], bucket["high"]], bucket)
            for bucket in axe["buckets"]
            if bucket["num_sentences"] >= FEWEST and of_ce.get((bucket["low"], bucket["high"])) is not None
        ]
        if len(gaps) < 2:
            words = f"fewer than two groups of lengths hold {FEWEST} sentences"
            yield Finding(place=place, answer=UNKNOWN, words=words)
            continue
        (first, short), (last, long) = gaps[0], gaps[-1]
        words = f"AXE minus CE is {first:+.2f} BLEU for {_span(short)} words and {last:+.2f} for {_span(long)}"
        yield _told(place, last > first, words)


def _span(bucket: Record) -> str:
    return f"{bucket['low']} or more" if bucket["high"] is None else f"{bucket['low']} to {bucket['high'] - 1}"


def _analysed(study: StudyRecord, key: str) -> Iterator[tuple[str, Any, Any]]:
    """Place and both analyses, or in the place of the first why there are none."""
    for place in places(study):
        if lacking := unscored(study, place):
            yield named(study, place), lacking, None
        for axe, ce in pairs(study, place):
            lacking = unanalysed(study, (ce, axe), key)
            of_axe, of_ce = (study.run(score["run"]).analysis() for score in (axe, ce))
            yield (named(study, place), lacking, None) if lacking else (named(study, place), of_axe, of_ce)


def fewer_repetitions(study: StudyRecord) -> Iterator[Finding]:
    p_values = _p_values(study, "p_value_repetition")
    for place in places(study):
        if lacking := unscored(study, place):
            yield Finding(place=named(study, place), answer=UNKNOWN, words=lacking)
        for axe, ce in pairs(study, place):
            rates = axe.get("repetition"), ce.get("repetition")
            if rates[0] is None or rates[1] is None:
                yield Finding(place=named(study, place), answer=UNKNOWN, words="no repetition rates")
                continue
            words = f"AXE repeats {rates[0]:.2%} of its tokens, CE {rates[1]:.2%}"
            if 0 < rates[0] < rates[1]:
                words += f", {rates[1] / rates[0]:.1f} times as many"
            p_value = p_values.get((axe["run"], ce["run"], axe["split"]))
            yield _told(named(study, place), rates[0] < rates[1], words, p_value)


def sharper_positions(study: StudyRecord) -> Iterator[Finding]:
    """How much of the peak the two neighbours of a position get; on long sentences, where the paper sees it."""
    for place, axe, ce in _analysed(study, "confidence"):
        if isinstance(axe, str):
            yield Finding(place=place, answer=UNKNOWN, words=axe)
            continue
        shares = [_beside_the_peak(analysis["confidence"].get("long") or {}) for analysis in (axe, ce)]
        if shares[0] is None or shares[1] is None:
            yield Finding(place=place, answer=UNKNOWN, words="the set has no long sentences")
            continue
        words = f"on long sentences the neighbours get {shares[0]:.1%} of the peak with AXE, {shares[1]:.1%} with CE"
        yield _told(place, shares[0] < shares[1], words)


def _beside_the_peak(curve: Record) -> float | None:
    at = dict(zip(curve.get("offsets") or (), curve.get("probability") or (), strict=True))
    left, peak, right = (at.get(offset) for offset in (-1, 0, 1))
    return None if left is None or right is None or not peak else (left + right) / 2 / peak


def distilled_above_raw(study: StudyRecord) -> Iterator[Finding]:
    for corpus, objective in product(dict.fromkeys(corpus for corpus, _ in places(study)), ("masked", "axe")):
        sides = [representatives(study, (corpus, side), objective) for side in ("distilled", "raw")]
        where = f"{label_of(objective)}, {corpus}"
        if not all(sides):
            lacking = "; ".join(unscored(study, (corpus, side), (objective,)) for side in ("raw", "distilled"))
            yield Finding(place=where, answer=UNKNOWN, words=lacking.strip("; "))
        for distilled, raw in product(*sides):
            difference = distilled["bleu"] - raw["bleu"]
            words = f"{distilled['run']} is {_apart(difference)} {raw['run']}"
            words += ", but their 95 % intervals overlap" if _overlap(distilled, raw) else ""
            yield _told(where, difference > 0, words)


def _overlap(a: Record, b: Record) -> bool:
    """There is no test of these two, so the reader is told where chance may have its part."""
    bounds: list[Any] = [score.get(key) for score in (a, b) for key in ("bleu_low", "bleu_high")]
    return None not in bounds and max(bounds[::2]) <= min(bounds[1::2])


def objectives_in_order(study: StudyRecord) -> Iterator[Finding]:
    """Nothing seen and all scored, some seen and all scored, some seen and the hidden scored: each above the last.

    At the deltas of the ablations: the best of a longer grid would have an advantage that is not the objective's.
    """
    kinds = {("none", "all"): "nothing seen", ("some", "all"): "all scored", ("some", "hidden"): "hidden scored"}
    for place in places(study):
        here = [run for run in study.runs if run.objective == "axe" and place_of(run) == place]
        deltas = {delta(run) for run in here if of_ablation(run)}
        best: dict[str, float] = {}
        for run in here:
            bleu = (run.tuned or {}).get("bleu")
            objective = (run.config or {}).get("objective") or {}
            kind = kinds.get((objective.get("observe", "some"), objective.get("score", "hidden")))
            if kind and bleu is not None and delta(run) in deltas:
                best[kind] = max(bleu, best.get(kind, bleu))
        if deltas and len(best) < len(kinds):
            lacking = ", ".join(kind for kind in kinds.values() if kind not in best)
            words = f"no run on valid at the same δ with: {lacking}"
            yield Finding(place=named(study, place), answer=UNKNOWN, words=words)
        elif deltas:
            words = ", ".join(f"{kind} {best[kind]:.2f}" for kind in kinds.values())
            rises = all(best[lower] < best[higher] for lower, higher in pairwise(kinds.values()))
            yield _told(named(study, place), rises, f"BLEU on valid: {words}")


def skipping_falls_with_delta(study: StudyRecord) -> Iterator[Finding]:
    for choice in study.choices:
        if choice["key"] != "skip_target_penalty":
            continue
        rated = [c for c in choice["candidates"] if c.get("skip_target_rate") is not None]
        ordered = sorted(rated, key=lambda candidate: candidate["value"])
        without = [c["run"] for c in choice["candidates"] if c.get("skip_target_rate") is None]
        where = f"grid {choice['group']}"
        if len(ordered) < 2:
            lacking = f"no skip-target rate of {', '.join(without)}" if without else "the grid has one value"
            yield Finding(place=where, answer=UNKNOWN, words=lacking)
            continue
        first, last = ordered[0], ordered[-1]
        falls = all(after["skip_target_rate"] < before["skip_target_rate"] for before, after in pairwise(ordered))
        words = ", ".join(f"{c['skip_target_rate']:.2%} at δ = {c['value']:g}" for c in (first, last))
        down = last["skip_target_rate"] < first["skip_target_rate"]
        yield _told(where, falls, words + (", but not lower at every step" if down and not falls else ""))


def lambda_has_an_optimum(study: StudyRecord) -> Iterator[Finding]:
    for place in places(study):
        if lacking := unscored(study, place, ("axe",)):
            yield Finding(place=named(study, place), answer=UNKNOWN, words=lacking)
        for score in representatives(study, place, "axe"):
            yield _optimum(score["run"], study.run(score["run"]).tuned)


def _optimum(run: str, tuned: Record | None) -> Finding:
    tried = sorted((c for c in (tuned or {}).get("candidates") or () if c["bleu"] is not None), key=_value)
    if tuned is None or len(tried) < 3:
        words = "no tuned.json" if tuned is None else "fewer than three values of λ were tried"
        return Finding(place=run, answer=UNKNOWN, words=words)
    best = max(candidate["bleu"] for candidate in tried)
    inside = tried[0]["bleu"] < best and tried[-1]["bleu"] < best
    gain = best - tried[0]["bleu"]
    words = (
        f"λ = {tuned['value']:g} of {tried[0]['value']:g} to {tried[-1]['value']:g}, {gain:.2f} BLEU above the first"
    )
    return _told(run, inside, words + ("" if inside else "; the best lies at the edge"))


def _value(candidate: Record) -> Any:
    return candidate["value"]


Claim = tuple[str, str, Callable[[StudyRecord], Iterator[Finding]], str]
CLAIMS: Sequence[Claim] = (
    (
        "AXE is above cross entropy",
        "Table 2: 3.3 to 6.7 BLEU above, 5.2 on average (distilled targets)",
        axe_above_ce,
        "the study has no AXE and no CE run",
    ),
    (
        "Distilled targets are better than raw ones",
        "Table 4: 0.1 to 3.1 BLEU better for AXE",
        distilled_above_raw,
        "the study has no AXE and no CE run",
    ),
    (
        "To see some tokens in training and to score the hidden ones is best",
        "Table 5: 22.0, 22.8 and 23.1 BLEU on valid, English to German",
        objectives_in_order,
        "the study has no run with observe: none or score: all",
    ),
    (
        "The share of skipped targets falls with δ",
        "Table 6: from 17.6 % at δ = 1 to 7.4 % at δ = 5, English to German",
        skipping_falls_with_delta,
        "no grid over skip_target_penalty has been chosen from",
    ),
    (
        "λ has an optimum inside its grid",
        "Table 7: at 1.04 to 1.08, on average 0.5 BLEU above λ = 1",
        lambda_has_an_optimum,
        "the study has no AXE run",
    ),
    (
        "AXE gains more on long sentences",
        "Table 8: from 1.7 BLEU below 10 words to 11.8 from 50 words, English to German",
        more_so_on_long_sentences,
        "the study has no AXE and no CE run",
    ),
    (
        "AXE knows better where a word belongs",
        "Figure 3: on long sentences the neighbours get almost a third of the peak with CE, next to nothing with AXE",
        sharper_positions,
        "the study has no AXE and no CE run",
    ),
    (
        "AXE repeats fewer tokens",
        "Table 9: 12 times fewer",
        fewer_repetitions,
        "the study has no AXE and no CE run",
    ),
)  # fmt: skip
