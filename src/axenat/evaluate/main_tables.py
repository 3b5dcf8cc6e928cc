"""Section 4.2 of the paper for a study: AXE against cross entropy, other systems, raw against distilled data."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from axenat.evaluate.beside_paper import beside, cells, columns, likewise, notes, published_bleu, unlike_paper
from axenat.evaluate.paper import SystemRow, Values
from axenat.evaluate.seeds import may_be_paired
from axenat.evaluate.study_record import Record, StudyRecord
from axenat.evaluate.table_parts import SYSTEMS, caption, chosen_on_test, label, unscored
from axenat.evaluate.table_text import Table, interval, number, text

SIDES = ("raw", "distilled")
# What a study may have of Table 3, where nobody gave the paper's numbers.
UNPUBLISHED = (
    SystemRow(system="base", label="Transformer", iterations="N", bleu={}),
    SystemRow(system="base_distilled", label="+ Knowledge Distillation", iterations="N", bleu={}),
    SystemRow(system="ce", label="Cross Entropy CMLM", bleu={}),
    SystemRow(system="axe", label="AXE CMLM", bleu={}),
)


def axe_against_ce(study: StudyRecord) -> Table:
    """Both objectives of each corpus and target side, one row a run; the paper has distilled data only."""
    scores = [score for score in chosen_on_test(study) if score["objective"] in SYSTEMS]
    rows = []
    for score in scores:
        values = published_bleu(study, "axe_against_ce", system=SYSTEMS[score["objective"]])
        row = {key: score.get(key) for key in ("corpus", "target_side", "run", "bleu", "bleu_low", "bleu_high")}
        row |= {"model": label(score["objective"]), "gain": _above_ce(score, scores)}
        rows.append(row | _beside(study, score, values if score["target_side"] == "distilled" else {}))
    return Table(
        caption=caption(study, "BLEU on test of models that write all words at once", "axe_against_ce", scores),
        columns=[
            text("corpus", "corpus"),
            text("target side", "target_side"),
            text("model", "model"),
            number("BLEU", "bleu", ".2f"),
            interval("95 % interval", "bleu_low", "bleu_high"),
            number("above CE", "gain", "+.2f"),
            *columns(study, _corpora(scores), scored=True),
            text("run", "run"),
        ],
        rows=rows,
        notes=[*_published_gains(study, _corpora(scores)), *_notes(study, scores)],
    )


def _above_ce(score: Record, scores: Sequence[Record]) -> float | None:
    """Of an AXE run, over the cross entropy run of the same corpus, target side and decoding, and seed if several."""
    same = ("corpus", "target_side", "decode")
    others = [other for other in scores if other["objective"] == "masked" and all(other[k] == score[k] for k in same)]
    if len(others) > 1:
        others = [other for other in others if other.get("seed") == score.get("seed")]
    return score["bleu"] - others[0]["bleu"] if score["objective"] == "axe" and len(others) == 1 else None


def _published_gains(study: StudyRecord, corpora: Sequence[str]) -> list[str]:
    ce, axe = (published_bleu(study, "axe_against_ce", system=system) for system in ("ce", "axe"))
    found = {column.name: column for corpus in corpora if (column := beside(study, corpus))}
    return [
        f"Published: AXE is {axe[name] - ce[name]:.2f} BLEU above CE on {column.title}, on distilled data."
        for name, column in found.items()
    ]


def systems(study: StudyRecord) -> Table:
    """The paper's rows in its order, published; our run beside each that we have."""
    scores = chosen_on_test(study)
    rows = [
        {"corpus": corpus, **row}
        for corpus in _corpora(scores)
        for published in (study.paper.systems if study.paper else UNPUBLISHED)
        for row in _system_rows(study, published, [score for score in scores if score["corpus"] == corpus], corpus)
    ]
    return Table(
        caption=caption(study, "BLEU on test; rows with a citation are published by others", "systems", scores),
        columns=[
            text("corpus", "corpus"),
            text("model", "model"),
            text("iterations", "iterations"),
            number("ours", "bleu", ".2f"),
            interval("95 % interval", "bleu_low", "bleu_high"),
            *columns(study, _corpora(scores), scored=True),
            text("run", "run"),
        ],
        rows=rows,
        notes=_notes(study, [score for score in scores if any(score["run"] == row["run"] for row in rows)]),
    )


def _system_rows(
    study: StudyRecord, published: SystemRow, scores: Sequence[Record], corpus: str
) -> list[dict[str, Any]]:
    ours = [score for score in scores if _is_system(study, score, published.system, scores)] or [{}]
    name = f"{published.label}, {published.citation}" if published.citation else published.label
    if not ours[0] and not published.bleu:
        return []
    about = {"model": name if ours[0] else f"{name}, published", "iterations": published.iterations}
    return [
        {
            **about,
            **{key: score.get(key) for key in ("run", "bleu", "bleu_low", "bleu_high")},
            **(_beside(study, score, published.bleu) if score else cells(study, corpus, published.bleu, None)),
        }
        for score in ours
    ]


def _is_system(study: StudyRecord, score: Record, system: str | None, scores: Sequence[Record]) -> bool:
    """Students of Table 3 are trained on distilled data; its transformer is of their size, as a teacher need not be."""
    if score["objective"] in SYSTEMS:
        return SYSTEMS[score["objective"]] == system and score["target_side"] == "distilled"
    named = "base" if score["target_side"] == "raw" else "base_distilled"
    return named == system and _is_of_paper(study, score, scores)


def _is_of_paper(study: StudyRecord, score: Record, scores: Sequence[Record]) -> bool:
    """The transformer of the paper's tables is of its students' size."""
    students = [_model(study, other) for other in scores if other["objective"] in SYSTEMS]
    return score["objective"] in SYSTEMS or not students or _model(study, score) in students


def _model(study: StudyRecord, score: Record) -> Any:
    return (study.run(score["run"]).config or {}).get("model")


def target_sides(study: StudyRecord) -> Table:
    """Each raw run against each distilled one of the same objective, then what others reached on raw data."""
    scores = chosen_on_test(study)
    rows = []
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for score in scores:  # a teacher may be larger than another left-to-right run
        groups.setdefault((score["corpus"], score["objective"], str(_model(study, score))), []).append(score)
    for (corpus, objective, _), same in groups.items():
        for pair in product(*([score for score in same if score["target_side"] == side] or [{}] for side in SIDES)):
            if all(pair) and not may_be_paired(*pair):
                continue
            row: dict[str, Any] = {"corpus": corpus, "model": label(objective)}
            for side, score in zip(SIDES, pair, strict=True):
                row |= {f"{side}_{key}": score.get(key) for key in ("run", "bleu", "bleu_low", "bleu_high")}
                values = _published_on(study, objective, side) if _is_of_paper(study, same[0], scores) else {}
                row |= cells(study, corpus, values, likewise(study, score) if score else None, f"{side}_")
            row["difference"] = pair[1]["bleu"] - pair[0]["bleu"] if all(pair) else None
            rows.append(row)
    rows += [row for corpus in _corpora(scores) for row in _others_on_raw(study, corpus)]
    shown = [text("corpus", "corpus"), text("model", "model")]
    for side in SIDES:
        shown.append(number(side, f"{side}_bleu", ".2f"))
        shown.append(interval("95 % interval", f"{side}_bleu_low", f"{side}_bleu_high"))
        shown += columns(study, _corpora(scores), f"{side}_", scored=True)
    shown += [number("distilled above raw", "difference", "+.2f"), text("runs", "raw_run", "distilled_run")]
    return Table(
        caption=caption(study, "BLEU on test by the target side of train", "target_sides", scores),
        columns=shown,
        rows=rows,
        notes=_notes(study, scores),
    )


def _published_on(study: StudyRecord, objective: str, side: str) -> Values:
    """Table 4 has raw data; what the same systems reach on distilled data is in Tables 2 and 3."""
    if objective == "left_to_right":
        return published_bleu(study, "systems", system="base" if side == "raw" else "base_distilled")
    system = SYSTEMS.get(objective)
    if side == "raw":
        return published_bleu(study, "target_sides", system=system, target_side=side)
    return published_bleu(study, "axe_against_ce", system=system)


def _others_on_raw(study: StudyRecord, corpus: str) -> list[dict[str, Any]]:
    others = [row for row in (study.paper.target_sides if study.paper else ()) if row.system is None]
    empty = {f"{side}_{key}": None for side in SIDES for key in ("run", "bleu", "bleu_low", "bleu_high")}
    return [
        {
            "corpus": corpus,
            "model": f"{row.label}, {row.citation}, published",
            "difference": None,
            **empty,
            **cells(study, corpus, row.bleu, None, "raw_"),
            **cells(study, corpus, {}, None, "distilled_"),
        }
        for row in others
    ]


def _beside(study: StudyRecord, score: Record, values: Values) -> dict[str, Any]:
    return cells(study, score["corpus"], values, likewise(study, score))


def _corpora(scores: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(score["corpus"] for score in scores))


def _notes(study: StudyRecord, scores: Sequence[Record]) -> list[str]:
    runs = [score["run"] for score in scores]
    return [*notes(study, _corpora(scores), runs), *unlike_paper(study, scores), *unscored(study)]
