"""Which figures a study's report shows, and from which of its records each is drawn."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from axenat.evaluate.alignment_figure import alignment_figure
from axenat.evaluate.figure_style import to_svg
from axenat.evaluate.figures import (
    bleu_by_length,
    confidence_curves,
    grid_curve,
    key_label,
    learning_curves,
    repetition_bars,
    tuning_curves,
)
from axenat.evaluate.study_record import Record, StudyRecord
from axenat.evaluate.tables import OBJECTIVE_LABELS


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One figure, ready for a file or a page."""

    name: str
    caption: str
    svg: str
    wide: bool = False


def draw_all(study: StudyRecord) -> dict[str, list[Drawing]]:
    """Every section of the report with the figures this study has the records for."""
    return {
        "training": list(_training(study)),
        "tuning": list(_tuning(study)),
        "delta": list(_delta(study)),
        "length": list(_length(study)),
        "repetition": list(_repetition(study)),
        "confidence": list(_confidence(study)),
        "alignment": list(_alignment(study)),
    }


def _drawing(name: str, caption: str, figure: Figure, *, wide: bool = False) -> Drawing:
    return Drawing(name=slug(name), caption=caption, svg=to_svg(figure), wide=wide)


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _training(study: StudyRecord) -> Iterator[Drawing]:
    objectives = study.objectives()
    groups: dict[tuple[str, str], dict[str, Sequence[Record]]] = {}
    for run in study.runs:
        if run.history:
            groups.setdefault((run.objective, run.target_side), {})[run.name] = run.history
    for (objective, side), histories in groups.items():
        label = OBJECTIVE_LABELS.get(objective, objective)
        figure = learning_curves(histories, objectives, f"{label}: loss, {side} targets")
        caption = f"{label} on {side} targets: loss over steps; thin line train, dots valid."
        yield _drawing(f"learning-curves-{objective}-{side}", caption, figure)


def _tuning(study: StudyRecord) -> Iterator[Drawing]:
    groups: dict[tuple[str, str], list[Record]] = {}
    for run in study.runs:
        if run.tuned:
            groups.setdefault((run.tuned["key"], run.target_side), []).append(run.tuned)
    for (key, side), tuned in groups.items():
        words = key.replace("_", " ")
        figure = tuning_curves(tuned, study.objectives(), f"{words.capitalize()}, {side} targets")
        caption = f"BLEU on valid over the {words}; the ring marks the value chosen."
        yield _drawing(f"tuning-{key}-{side}", caption, figure)


def _delta(study: StudyRecord) -> Iterator[Drawing]:
    for choice in study.choices:
        caption = f"Grid {choice['group']}: {choice['rule']}. Chosen: {choice['chosen']}."
        label = key_label(choice["key"])
        figure = grid_curve(choice, f"{label[0].upper()}{label[1:]}, {choice['group']}")
        yield _drawing(f"grid-{choice['group']}", caption, figure)


def _length(study: StudyRecord) -> Iterator[Drawing]:
    for axe, cross_entropy in study.pairs():
        labelled: dict[str, Sequence[Record]] = {}
        for label, score in (("CE", cross_entropy), ("AXE", axe)):
            analysis = study.run(score["run"]).analysis() or {}
            labelled[f"{label} ({score['run']})"] = analysis.get("buckets") or ()
        if not all(any(bucket["num_sentences"] for bucket in buckets) for buckets in labelled.values()):
            continue
        caption = "Sentences grouped by the length of the first reference; their number in brackets."
        figure = bleu_by_length(labelled, f"BLEU by length, {axe['target_side']} targets")
        yield _drawing(f"bleu-by-length-{axe['corpus']}-{axe['target_side']}", caption, figure)


def _repetition(study: StudyRecord) -> Iterator[Drawing]:
    scores = [score for score in study.first_split() if score.get("repetition") is not None]
    if scores:
        caption = "Share of subwords equal to the one before; blue CE, red AXE, green left-to-right."
        title = f"Repeated tokens, {scores[0]['split']} set"
        yield _drawing("repetition", caption, repetition_bars(scores, title))


def _confidence(study: StudyRecord) -> Iterator[Drawing]:
    for axe, cross_entropy in study.pairs():
        found = [(study.run(score["run"]).analysis() or {}).get("confidence") or {} for score in (cross_entropy, axe)]
        for size in ("short", "long"):
            curves = [confidence.get(size) for confidence in found]
            if not all(curve and curve["num_sentences"] for curve in curves):
                continue
            title = f"Position confidence, {size} sentences, {axe['target_side']} targets"
            caption = f"Probability of a generated token around its own position, {size} sentences."
            name = f"confidence-{axe['corpus']}-{axe['target_side']}-{size}"
            yield _drawing(name, caption, confidence_curves(curves[0] or {}, curves[1] or {}, title))


def _alignment(study: StudyRecord) -> Iterator[Drawing]:
    for score in study.shown():
        if score["objective"] != "axe":
            continue
        drawn = [analysis for analysis in study.run(score["run"]).analyses if analysis.get("alignment")]
        for analysis in sorted(drawn, key=lambda record: record.get("split") != "test")[:1]:
            alignment = analysis["alignment"]
            caption = f"{score['run']}, source: {alignment['source']}"
            yield _drawing(f"alignment-{score['run']}", caption, alignment_figure(alignment), wide=True)
