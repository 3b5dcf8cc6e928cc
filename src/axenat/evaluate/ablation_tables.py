"""Section 4.3 of the paper for a study: training objectives, skip-target penalty, length multiplier, all on valid."""

from collections.abc import Sequence
from typing import Any

from axenat.evaluate.beside_paper import beside, cells, columns, is_shown, notes, published_bleu
from axenat.evaluate.choose import best_bleu
from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.evaluate.table_parts import caption, chosen_runs, corpus_of, delta, of_ablation, place, tuned, without
from axenat.evaluate.table_text import Column, Row, Table, mark, number, text
from axenat.evaluate.tables import SIDE_ORDER
from axenat.systems.registry import PROPOSED, TEACHERS

INPUTS = {"none": "unobserved", "some": "partially observed"}
SCORED = {"all": "all tokens", "hidden": "only masks"}
NO_MULTIPLIER = "This study has no run with a length multiplier."
NO_GRID = "This study has no grid over skip_target_penalty."
RAW_BLEU = "Differs from the paper: valid BLEU here is sacreBLEU on plain text, published is tokenised BLEU."


def training_objectives(study: StudyRecord) -> Table:
    """The three of section 3.3, compared at the same target side and delta."""
    axe = [run for run in study.runs if run.objective == PROPOSED.name and run.config]
    runs = [run for run in axe if of_ablation(run) or _is_baseline(run, axe)]
    rows = []
    for run in sorted(runs, key=_order):
        observe, score = _variant(run)
        bleu = best_bleu(run.tuned) if run.tuned else None
        rows.append(
            {
                "corpus": corpus_of(run),
                "target_side": run.target_side,
                "observe": INPUTS[observe],
                "score": SCORED[score],
                "skip_target_penalty": delta(run),
                "bleu": bleu,
                "length_multiplier": (run.tuned or {}).get("value"),
                **_beside(study, run, "training_objectives", bleu, observe=observe, score=score),
                "run": run.name,
            }
        )
    missing = without("config.yaml", [run.name for run in study.runs if not run.config])
    missing += without("tuned.json", [run.name for run in runs if not run.tuned])
    return Table(
        caption=caption(study, "BLEU on valid by what the decoder sees in training and what is scored",
                        "training_objectives", tuned(runs)),
        columns=[
            text("corpus", "corpus"),
            text("target side", "target_side"),
            text("input tokens", "observe"),
            text("loss function", "score"),
            number("δ", "skip_target_penalty", "g"),
            number("BLEU", "bleu", ".2f"),
            number("λ", "length_multiplier", "g"),
            *columns(study, map(corpus_of, runs)),
            text("run", "run"),
        ],
        rows=rows,
        notes=[*_notes(study, runs), *missing] if rows or missing else ["This study has no run trained with AXE."],
    )  # fmt: skip


def _variant(run: RunRecord) -> tuple[str, str]:
    objective = (run.config or {}).get("objective") or {}
    return objective.get("observe", "some"), objective.get("score", "hidden")


def _order(run: RunRecord) -> tuple[str, int, int, float]:
    """Objectives as the paper has them."""
    kinds = (("none", "all"), ("some", "all"), ("some", "hidden"))
    variant = _variant(run)
    kind = kinds.index(variant) if variant in kinds else len(kinds)
    return corpus_of(run), SIDE_ORDER.get(run.target_side, len(SIDE_ORDER)), kind, delta(run) or 0.0


def _is_baseline(run: RunRecord, axe: Sequence[RunRecord]) -> bool:
    """The paper's own objective at the delta of an ablation beside it, or at any if there is none."""
    deltas = [delta(other) for other in axe if of_ablation(other) and place(other) == place(run)]
    own = [delta(other) for other in axe if not of_ablation(other) and place(other) == place(run)]
    return delta(run) in deltas or not set(deltas) & set(own)


def skip_target_penalty(study: StudyRecord) -> Table:
    """Each grid over delta, as `choose` saw it."""
    grids = [choice for choice in study.choices if choice["key"] == "skip_target_penalty"]
    rows = []
    for grid in grids:
        for candidate in sorted(grid["candidates"], key=lambda candidate: candidate["value"]):
            run = study.run(candidate["run"])
            rate, value = candidate.get("skip_target_rate"), float(candidate["value"])
            rates = _published_rates(study, value) if is_shown(study, *place(run)) else {}
            rows.append(
                {
                    "grid": grid["group"],
                    "skip_target_penalty": candidate["value"],
                    "bleu": candidate["bleu"],
                    "length_multiplier": candidate.get("length_multiplier"),
                    "skip_target_rate": rate,
                    "skip_prediction_rate": (run.tuned or {}).get("skip_prediction_rate"),
                    **_beside(study, run, "skip_target_penalty", candidate["bleu"], value=value),
                    **cells(study, corpus_of(run), rates, rate, "skip_target_", scale=0.01),
                    "run": run.name,
                    "chosen": run.name == grid["chosen"],
                }
            )
    runs = [study.run(row["run"]) for row in rows]
    missing = [*study.missing, *without("tuned.json", [run.name for run in runs if not run.tuned])]
    places = [corpus_of(run) for run in runs]
    return Table(
        caption=caption(study, "BLEU on valid and share of tokens that AXE skips there, by δ", "skip_target_penalty",
                        tuned(runs)),
        columns=[
            text("grid", "grid"),
            number("δ", "skip_target_penalty", "g"),
            number("BLEU", "bleu", ".2f"),
            *columns(study, places),
            number("λ", "length_multiplier", "g"),
            number("skip target", "skip_target_rate", ".2%"),
            *columns(study, places, "skip_target_", ".2%"),
            number("skip prediction", "skip_prediction_rate", ".2%"),
            text("run", "run"),
            mark("chosen", "chosen"),
        ],
        rows=rows,
        notes=[*_notes(study, runs), *missing] if rows or missing else [NO_GRID],
    )  # fmt: skip


def _published_rates(study: StudyRecord, value: float) -> dict[str, float]:
    rows = study.paper.skip_target_penalty if study.paper else ()
    return next((row.skip_target_percent or {} for row in rows if row.value == value), {})


def length_multiplier(study: StudyRecord) -> Table:
    """One row a run, one column a value: the paper has one column a corpus, but a study may have many runs."""
    runs = [run for run in study.runs if run.objective not in TEACHERS and not of_ablation(run)]
    found = {run.name: run.tuned for run in runs if run.tuned and run.tuned["key"] == "length_multiplier"}
    rows = [
        _multiplier_row(run, {tried["value"]: tried["bleu"] for tried in record["candidates"]}, record["value"])
        for run, record in found.items()
    ]
    places = [corpus_of(run) for run in runs if run.name in found]
    tried = {each["value"] for record in found.values() for each in record["candidates"]}
    values = sorted(tried | _published_multipliers(study, places))
    rows += _published_multiplier_rows(study, places, values)
    rows += _multiplier_differences(study, [run for run in chosen_runs(study) if run.name in found])
    missing = without("tuned.json", [run.name for run in runs if not run.tuned])
    return Table(
        caption=caption(study, "BLEU on valid by λ, in bold the one that decodes test", "length_multiplier",
                        tuned(runs)),
        columns=[text("run", "run"), *map(_multiplier_column, values), number("best λ", "best", "g")],
        rows=[{**{_key(value): None for value in values}, **row} for row in rows],
        notes=[*_notes(study, runs), *missing] if rows or missing else [NO_MULTIPLIER],
    )  # fmt: skip


def _key(value: float) -> str:
    return f"bleu_{value:g}"


def _multiplier_row(name: str, bleu: dict[float, float], best: float | None) -> dict[str, Any]:
    return {"run": name, **{_key(value): score for value, score in bleu.items()}, "best": best}


def _published_multipliers(study: StudyRecord, corpora: Sequence[str]) -> set[float]:
    """All of Table 7 where the corpus is the paper's own; beside another corpus, only values that were tried there."""
    same = any(column.same for corpus in corpora if (column := beside(study, corpus)))
    return {row.value for row in study.paper.length_multiplier} if same and study.paper else set()


def _published_by_multiplier(study: StudyRecord, column: str) -> dict[float, float]:
    rows = study.paper.length_multiplier if study.paper else ()
    return {row.value: row.bleu[column] for row in rows if column in row.bleu}


def _published_multiplier_rows(
    study: StudyRecord, corpora: Sequence[str], values: Sequence[float]
) -> list[dict[str, Any]]:
    found = {column.name: column for corpus in corpora if (column := beside(study, corpus))}
    rows = []
    for name, column in found.items():
        bleu = _published_by_multiplier(study, name)
        if bleu:
            best = max(bleu, key=lambda value: (bleu[value], -value))  # the first of equals, as `tune` chooses
            shown = {value: bleu[value] for value in bleu if value in values}
            rows.append(_multiplier_row(f"published, {column.title}", shown, best))
    return rows


def _multiplier_differences(study: StudyRecord, chosen: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Table 7 is of AXE on distilled data."""
    rows = []
    for run in (
        run for run in chosen if run.objective == PROPOSED.name and run.target_side == "distilled" and run.tuned
    ):
        column = beside(study, corpus_of(run))
        published = _published_by_multiplier(study, column.name) if column and column.same else {}
        tried = {each["value"]: each["bleu"] for each in (run.tuned or {})["candidates"]}
        both = {value: tried[value] - published[value] for value in tried if value in published}
        if both:
            rows.append(_multiplier_row(f"{run.name} less published", both, None))
    return rows


def _multiplier_column(value: float) -> Column:
    plain = number(f"λ = {value:g}", _key(value), ".2f")

    def show(row: Row) -> str:
        return f"**{plain.show(row)}**" if row["best"] == value else plain.show(row)

    return Column(label=plain.label, keys=plain.keys, show=show)


def _beside(study: StudyRecord, run: RunRecord, table: str, ours: float | None, **keys: object) -> dict[str, Any]:
    values = published_bleu(study, table, **keys) if is_shown(study, *place(run)) else {}
    return cells(study, corpus_of(run), values, ours)


def _notes(study: StudyRecord, runs: Sequence[RunRecord]) -> list[str]:
    said = notes(study, [corpus_of(run) for run in runs], [run.name for run in runs])
    return [*said, *([RAW_BLEU] if any(corpus_of(run) in study.paper_columns for run in runs) else [])]
