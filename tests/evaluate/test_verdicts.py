"""Each claim of the paper against hand-made records: shown, not shown, and not to be told."""

from dataclasses import replace
from typing import Any

import pytest

from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.evaluate.verdicts import CLAIMS, IN_PART, NO, UNKNOWN, YES, verdicts


def verdict(study: StudyRecord, claim: str) -> Any:
    (found,) = [one for one in verdicts(study) if one.claim.startswith(claim)]
    return found


def with_scores(study: StudyRecord, **changes: dict[str, Any]) -> StudyRecord:
    """The scores of some runs changed; their names are written with underscores."""
    by_run = {run.replace("_", "-"): change for run, change in changes.items()}
    scores = [{**score, **by_run.get(score["run"], {})} for score in study.scores]
    return replace(study, scores=scores)


def with_run(study: StudyRecord, name: str, **changes: Any) -> StudyRecord:
    return replace(study, runs=[replace(run, **changes) if run.name == name else run for run in study.runs])


def without(study: StudyRecord, name: str) -> StudyRecord:
    """As a study whose run failed before it wrote anything."""
    scores = [score for score in study.scores if score["run"] != name]
    return replace(study, scores=scores, runs=[RunRecord(name=name) if r.name == name else r for r in study.runs])


def test_a_difference_that_chance_may_explain_is_not_shown(study: StudyRecord) -> None:
    found = verdict(study, "AXE is above cross entropy")
    raw, distilled = found.findings
    assert (raw.answer, raw.words) == (YES, "axe-raw-d2 is 10.00 BLEU above ce-raw (p = 0.001)")
    assert distilled.answer == NO and distilled.words.endswith("(p = 0.310), which chance may explain")
    assert found.answer == IN_PART


def test_without_a_test_the_sign_decides(study: StudyRecord) -> None:
    untested = replace(study, comparisons=[])
    assert verdict(untested, "AXE is above").answer == YES
    worse = verdict(with_scores(untested, axe_raw_d2={"bleu": 59.5}), "AXE is above").findings[0]
    assert (worse.answer, worse.words) == (NO, "axe-raw-d2 is 0.50 BLEU below ce-raw")


def test_long_sentences_are_compared_with_short_ones(study: StudyRecord) -> None:
    # CE loses 12 a bucket and AXE 3, from the same start: the gap grows by 9 a bucket.
    found = verdict(study, "AXE gains more on long")
    assert found.answer == YES
    assert found.findings[0].words == "AXE minus CE is +10.00 BLEU for 1 to 9 words and +37.00 for 30 or more"


def test_a_bucket_of_few_sentences_says_nothing(study: StudyRecord) -> None:
    analysis = study.run("axe-raw-d2").analyses[0]
    few = [{**bucket, "num_sentences": 9 if place else 50} for place, bucket in enumerate(analysis["buckets"])]
    thin = with_run(study, "axe-raw-d2", analyses=[{**analysis, "buckets": few}])
    assert verdict(thin, "AXE gains more on long").findings[0].answer == UNKNOWN


def test_repetitions_are_told_with_their_factor(study: StudyRecord) -> None:
    found = verdict(study, "AXE repeats fewer")
    assert found.findings[0].words == "AXE repeats 1.20% of its tokens, CE 8.10%, 6.8 times as many"
    more = with_scores(study, axe_raw_d2={"repetition": 0.09}, axe_distilled_d2={"repetition": 0.081})
    assert verdict(more, "AXE repeats fewer").answer == NO


@pytest.mark.parametrize(
    ("p_value", "answer", "end"),
    [(0.04, YES, "(p = 0.040)"), (1e-4, YES, "(p = 0.0001)"), (0.05, NO, "chance may explain")],
)
def test_fewer_repetitions_must_be_more_than_chance(study: StudyRecord, p_value: float, answer: str, end: str) -> None:
    tested = [{**one, "p_value_repetition": p_value} for one in study.comparisons]
    found = verdict(replace(study, comparisons=tested), "AXE repeats fewer")
    assert found.answer == answer and all(finding.words.endswith(end) for finding in found.findings)


def test_sharpness_is_what_the_neighbours_get_of_the_peak(study: StudyRecord) -> None:
    # 0.06 / 0.9 and 0.3 / 0.9
    found = verdict(study, "AXE knows better")
    assert found.findings[0].words == "on long sentences the neighbours get 6.7% of the peak with AXE, 33.3% with CE"
    assert found.answer == YES


def test_distilled_is_compared_with_raw_for_each_objective(study: StudyRecord) -> None:
    found = verdict(study, "Distilled targets")
    assert [finding.words for finding in found.findings] == [
        "ce-distilled is 20.00 BLEU above ce-raw",
        "axe-distilled-d2 is 12.00 BLEU above axe-raw-d2",
    ]


@pytest.mark.parametrize(("low", "overlap"), [(61.3, True), (61.31, False)])  # the interval of ce-raw ends at 61.3
def test_where_intervals_overlap_the_reader_is_told(study: StudyRecord, low: float, overlap: bool) -> None:
    near = with_scores(study, ce_distilled={"bleu": 61.9, "bleu_low": low, "bleu_high": 62.5})
    found = verdict(near, "Distilled targets").findings[0]
    assert found.answer == YES and found.words.endswith("their 95 % intervals overlap") == overlap


@pytest.mark.parametrize(
    ("rates", "answer", "words"),
    [
        ((0.18, 0.09, 0.06), YES, "18.00% at δ = 1, 6.00% at δ = 3"),
        ((0.18, 0.19, 0.06), NO, "18.00% at δ = 1, 6.00% at δ = 3, but not lower at every step"),
        ((0.06, 0.09, 0.18), NO, "6.00% at δ = 1, 18.00% at δ = 3"),
        ((0.06, None, None), UNKNOWN, "no skip-target rate of axe-raw-d3, axe-raw-d2"),
    ],
)
def test_the_skip_target_rate_must_fall_at_every_step(study: StudyRecord, rates, answer, words) -> None:
    choice = study.choices[0]
    candidates = [{**c, "skip_target_rate": rate} for c, rate in zip(choice["candidates"], rates, strict=True)]
    found = verdict(replace(study, choices=[{**choice, "candidates": candidates[::-1]}]), "The share of skipped")
    assert (found.findings[0].answer, found.findings[0].words) == (answer, words)


@pytest.mark.parametrize(
    ("bleu", "answer"),
    [
        ((1.0, 3.0, 2.0), YES),
        ((3.0, 2.0, 1.0), NO),
        ((1.0, 2.0, 3.0), NO),
        ((3.0, 3.0, 1.0), NO),
        ((1.0, 2.0), UNKNOWN),
    ],
)
def test_an_optimum_lies_inside_the_grid(study: StudyRecord, bleu: tuple[float, ...], answer: str) -> None:
    tried = [{"value": 1 + place / 10, "bleu": value} for place, value in enumerate(bleu)]
    tuned = {"key": "length_multiplier", "value": 1.1, "candidates": tried}
    assert verdict(with_run(study, "axe-raw-d2", tuned=tuned), "λ has").findings[0].answer == answer


def with_objectives(study: StudyRecord, *bleu: float) -> StudyRecord:
    """The three of section 3.3, at a delta that no other run has, with these scores on valid."""
    axe, made = study.run("axe-raw-d2"), []
    for (observe, scored), value in zip((("none", "all"), ("some", "all"), ("some", "hidden")), bleu, strict=False):
        objective = {"name": "axe", "observe": observe, "score": scored, "skip_target_penalty": 9}
        config = {**(axe.config or {}), "objective": objective}
        made.append(replace(axe, name=f"{observe}-{scored}", config=config, tuned={**(axe.tuned or {}), "bleu": value}))
    return replace(study, runs=[*study.runs, *made])


def test_training_objectives_are_told_in_the_order_of_the_paper(study: StudyRecord) -> None:
    assert verdict(study, "To see some tokens").answer == UNKNOWN
    (found,) = verdict(with_objectives(study, 20.0, 21.0, 22.0), "To see some tokens").findings
    assert (found.answer, found.words) == (
        YES, "BLEU on valid: nothing seen 20.00, all scored 21.00, hidden scored 22.00"
    )  # fmt: skip
    (found,) = verdict(with_objectives(study, 20.0), "To see some tokens").findings
    assert (found.answer, found.words) == (UNKNOWN, "no run on valid at the same δ with: all scored, hidden scored")


@pytest.mark.parametrize("bleu", [(20.0, 20.0, 20.0), (21.0, 20.0, 22.0), (20.0, 22.0, 21.0)])
def test_each_training_objective_must_be_above_the_one_before(study: StudyRecord, bleu: tuple[float, ...]) -> None:
    """The best of the other deltas, which is 70 here, is no match for an ablation at one."""
    high = [replace(run, tuned={**(run.tuned or {}), "bleu": 70.0}) for run in study.runs]
    assert verdict(with_objectives(replace(study, runs=high), *bleu), "To see some tokens").answer == NO


@pytest.mark.parametrize("claim", ["AXE is above", "AXE gains", "AXE repeats", "AXE knows", "Distilled"])
def test_what_cannot_be_told_names_the_run_that_is_missing(study: StudyRecord, claim: str) -> None:
    found = verdict(without(study, "ce-raw"), claim)
    missing = [finding for finding in found.findings if finding.answer == UNKNOWN]
    assert missing and all("ce-raw" in finding.words for finding in missing)
    assert found.answer != UNKNOWN  # the other side still tells


def test_a_study_without_records_can_tell_nothing() -> None:
    for found in verdicts(StudyRecord(name="empty")):
        assert found.answer == UNKNOWN and found.findings[0].words
    assert len(verdicts(StudyRecord(name="empty"))) == len(CLAIMS)
