"""The figures of the catalogue for a study: its records in, one drawing out. What is missing is said, not refused."""

from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure

from axenat.catalogue import CATALOGUE, FIGURE_NAMES, load
from axenat.evaluate.alignment_figure import alignment_figure
from axenat.evaluate.contrasts import all_pairs, named, pairs, places, representatives, unanalysed, unscored
from axenat.evaluate.drawing import Drawing, as_panel
from axenat.evaluate.figure_style import to_svg
from axenat.evaluate.figures import (
    bleu_by_length,
    confidence_curves,
    grid_curve,
    key_label,
    learning_curves,
    repetition_bars,
    side_slopes,
    system_bars,
    tuning_curves,
)
from axenat.evaluate.study_record import Record, StudyRecord
from axenat.records import one_of
from axenat.systems.registry import BASELINE, PROPOSED, TEACHERS, label_of

Found = Iterator[Figure | str]  # panels, and sentences about what is missing


def draw(name: str, study: StudyRecord) -> Drawing:
    """The figure of this name, from whatever the study has by now."""
    one_of("a figure", name, FIGURE_NAMES)
    figure = CATALOGUE[name].figure
    assert figure is not None
    found = list(load(figure.draw)(study))
    drawn = [panel for panel in found if isinstance(panel, Figure)]
    notes = [note for note in found if isinstance(note, str)]
    if not drawn:
        notes = [figure.otherwise, *notes]
    return Drawing(
        name=name,
        caption=figure.caption,
        panels=tuple(as_panel(to_svg(panel), f"{name}-{number}") for number, panel in enumerate(drawn)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _missing(what: str) -> Iterator[str]:
    if what:
        yield f"Missing: {what}."


def axe_against_ce(study: StudyRecord) -> Found:
    for place in places(study):
        yield from _missing(unscored(study, place))
    for corpus in dict.fromkeys(corpus for corpus, _ in places(study)):
        groups = {
            f"{side} targets": [
                *representatives(study, (corpus, side), BASELINE.name),
                *representatives(study, (corpus, side), PROPOSED.name),
            ]
            for of, side in places(study)
            if of == corpus
        }  # fmt: skip
        groups = {label: scores for label, scores in groups.items() if scores}
        teachers = [score for name in TEACHERS for score in representatives(study, (corpus, "raw"), name)]
        if groups:
            yield system_bars(groups, teachers[0] if teachers else None, f"AXE against CE, {corpus}")


def target_sides(study: StudyRecord) -> Found:
    for corpus in dict.fromkeys(corpus for corpus, _ in places(study)):
        lines: dict[str, dict[str, Record]] = {}
        for objective in (BASELINE.name, PROPOSED.name):
            for side in ("raw", "distilled"):
                for score in representatives(study, (corpus, side), objective)[:1]:
                    lines.setdefault(objective, {})[side] = score
        for side in ("raw", "distilled"):
            yield from _missing(unscored(study, (corpus, side)))
        whole = {objective: sides for objective, sides in lines.items() if len(sides) == 2}
        if whole:
            yield side_slopes(whole, f"Raw and distilled targets, {corpus}")


def skip_target_penalty(study: StudyRecord) -> Found:
    """Grids over other keys are chosen from in the same way and stand last."""
    for choice in sorted(study.choices, key=lambda choice: choice["key"] != "skip_target_penalty"):
        yield from _missing(", ".join(f"valid BLEU of {c['run']}" for c in choice["candidates"] if c["bleu"] is None))
        label = key_label(choice["key"])
        yield grid_curve(choice, f"{label[0].upper()}{label[1:]}, {choice['group']}")


def length_multiplier(study: StudyRecord) -> Found:
    """The teacher's length penalty is tuned in the same way and stands last."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for run in study.runs:
        if run.tuned:
            groups.setdefault((run.tuned["key"], run.target_side), []).append(run.tuned)
    yield from _missing(_without("tuned.json", [run.name for run in study.runs if not run.tuned]))
    for key, side in sorted(groups, key=lambda group: group[0] != "length_multiplier"):
        title = f"{key.replace('_', ' ').capitalize()}, {side} targets"
        yield tuning_curves(groups[key, side], study.objectives(), title)


def _without(file: str, runs: Sequence[str]) -> str:
    return f"{file} of {', '.join(runs)}" if runs else ""


def lengths(study: StudyRecord) -> Found:
    for place in places(study):
        yield from _missing(unscored(study, place))
        for axe, cross_entropy in pairs(study, place):
            yield from _missing(unanalysed(study, (cross_entropy, axe), "buckets"))
            labelled: dict[str, Sequence[Record]] = {}
            for label, score in ((BASELINE.label, cross_entropy), (PROPOSED.label, axe)):
                analysis = study.run(score["run"]).analysis() or {}
                labelled[f"{label} ({score['run']})"] = analysis.get("buckets") or ()
            if all(any(bucket["num_sentences"] for bucket in buckets) for buckets in labelled.values()):
                yield bleu_by_length(labelled, f"BLEU by length, {named(study, place)}")


def confidence(study: StudyRecord) -> Found:
    for place in places(study):
        yield from _missing(unscored(study, place))
        for axe, cross_entropy in pairs(study, place):
            runs = (cross_entropy, axe)
            yield from _missing(unanalysed(study, runs, "confidence"))
            found = [(study.run(score["run"]).analysis() or {}).get("confidence") or {} for score in runs]
            for size in ("short", "long"):
                ce_curve, axe_curve = (confidence.get(size) or {} for confidence in found)
                if ce_curve.get("num_sentences") and axe_curve.get("num_sentences"):
                    title = f"{size.capitalize()} sentences, {named(study, place)}"
                    yield confidence_curves(ce_curve, axe_curve, title)
                elif all(found):
                    yield f"Missing: the set has no {size} sentences."


def repetitions(study: StudyRecord) -> Found:
    scored = [score for score in study.first_split() if score.get("repetition") is not None]
    without = [run.name for run in study.runs if run.name not in {score["run"] for score in scored}]
    yield from _missing(f"no score of {', '.join(without)}" if without else "")
    if scored:
        yield repetition_bars(scored, f"Repeated tokens, {scored[0]['split']} set")


def training(study: StudyRecord) -> Found:
    groups: dict[tuple[str, str], dict[str, Sequence[Record]]] = {}
    for run in study.runs:
        if run.history:
            groups.setdefault((run.objective, run.target_side), {})[run.name] = run.history
    yield from _missing(_without("history.jsonl", [run.name for run in study.runs if not run.history]))
    for (objective, side), histories in groups.items():
        label = label_of(objective)
        yield learning_curves(histories, study.objectives(), f"{label}, {side} targets")


def alignment(study: StudyRecord) -> Found:
    runs = dict.fromkeys(axe["run"] for axe, _ in all_pairs(study)) or dict.fromkeys(
        score["run"] for score in study.shown() if score["objective"] == PROPOSED.name
    )
    for run in runs:
        alignments = study.run(run).alignments()
        yield from _missing("" if alignments else f"no alignment in an analysis of {run}")
        for alignment in alignments[:1]:
            yield alignment_figure(alignment, title=f"{run}: {alignment['source']}")
