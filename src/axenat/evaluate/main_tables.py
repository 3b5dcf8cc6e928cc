"""Section 4.2 of the paper for a study: AXE against cross entropy, other systems, raw against distilled data."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from axenat.evaluate.beside_paper import beside, cells, columns, likewise, notes, published_bleu, unlike_paper
from axenat.evaluate.paper import SystemRow, Values
from axenat.evaluate.seeds import may_be_paired
from axenat.evaluate.study_record import Record, StudyRecord
from axenat.evaluate.table_parts import (
    caption,
    chosen_on_test,
    is_left_to_right_student,
    label_of_run,
    paper_row,
    unscored,
)
from axenat.evaluate.table_text import Table, interval, number, text
from axenat.systems.registry import BASELINE, PROPOSED, SYSTEMS, TEACHERS, label_of

SIDES = ("raw", "distilled")
COMPARED = (BASELINE.name, PROPOSED.name)


def axe_against_ce(study: StudyRecord) -> Table:
    """Both objectives of each corpus and target side, one row a run; the paper has distilled data only."""
    scores = [score for score in chosen_on_test(study) if score["objective"] in COMPARED]
    rows = []
    for score in scores:
        values = published_bleu(study, "axe_against_ce", system=_row_of(score))
        row = {key: score.get(key) for key in ("corpus", "target_side", "run", "bleu", "bleu_low", "bleu_high")}
        row |= {"model": label_of(score["objective"]), "gain": _above_ce(score, scores)}
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
    others = [
        other for other in scores if other["objective"] == BASELINE.name and all(other[k] == score[k] for k in same)
    ]
    if len(others) > 1:
        others = [other for other in others if other.get("seed") == score.get("seed")]
    return score["bleu"] - others[0]["bleu"] if score["objective"] == PROPOSED.name and len(others) == 1 else None


def _published_gains(study: StudyRecord, corpora: Sequence[str]) -> list[str]:
    rows = (paper_row(name, "distilled") for name in COMPARED)
    ce, axe = (published_bleu(study, "axe_against_ce", system=row) for row in rows)
    found = {column.name: column for corpus in corpora if (column := beside(study, corpus))}
    return [
        f"Published: AXE is {axe[name] - ce[name]:.2f} BLEU above CE on {column.title}, on distilled data."
        for name, column in found.items()
    ]


def systems(study: StudyRecord) -> Table:
    """The paper's rows in its order, published, each with our run of the same system. Systems of our own follow."""
    scores = chosen_on_test(study)
    rows = []
    for corpus in _corpora(scores):
        here = [score for score in scores if score["corpus"] == corpus]
        for published in study.paper.systems if study.paper else _unpublished():
            ours = [score for score in here if _is_system(study, score, published, here)]
            rows += [{"corpus": corpus, **row} for row in _published_rows(study, published, ours, corpus)]
        own = [score for score in here if _has_own_row(study, score, here)]
        rows += [{"corpus": corpus, **_own_row(study, score)} for score in own]
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


def _unpublished() -> list[SystemRow]:
    """The rows that a study may have of Table 3, where nobody gave the paper's numbers."""
    return [
        SystemRow(system=row, target_side=side, label=_sided(system.label, side), iterations=_iterations(name), bleu={})
        for name, system in SYSTEMS.items()
        for side, row in system.paper_rows.items()
        if side == "distilled" or system.paper_rows.get("distilled") != row
    ]


def _sided(label: str, side: str) -> str:
    return f"{label}, {side} targets"


def _iterations(objective: str) -> str:
    """Of the decoder, for one translation: as many as tokens, or one."""
    return "N" if objective in TEACHERS else "1"


def _published_rows(
    study: StudyRecord, published: SystemRow, ours: Sequence[Record], corpus: str
) -> list[dict[str, Any]]:
    name = f"{published.label}, {published.citation}" if published.citation else published.label
    if not ours and not published.bleu:
        return []
    about = {"model": name if ours else f"{name}, published", "iterations": published.iterations}
    if not ours:
        empty = dict.fromkeys(("run", "bleu", "bleu_low", "bleu_high"))
        return [{**about, **empty, **cells(study, corpus, published.bleu, None)}]
    return [{**about, **_measured(score), **_beside(study, score, published.bleu)} for score in ours]


def _measured(score: Record) -> dict[str, Any]:
    return {key: score.get(key) for key in ("run", "bleu", "bleu_low", "bleu_high")}


def _row_of(score: Record) -> str | None:
    return paper_row(score["objective"], score["target_side"])


def _is_system(study: StudyRecord, score: Record, row: SystemRow, scores: Sequence[Record]) -> bool:
    """A system stands in no other system's row, and on the side of train that the row is about."""
    same = row.system is not None and _row_of(score) == row.system
    return same and score["target_side"] == (row.target_side or "distilled") and _is_of_paper(study, score, scores)


def _has_own_row(study: StudyRecord, score: Record, scores: Sequence[Record]) -> bool:
    """A system that the paper does not have, or a left-to-right student of another size than its transformer."""
    is_student = is_left_to_right_student(study, study.run(score["run"]))
    return _row_of(score) is None or (is_student and not _is_of_paper(study, score, scores))


def _own_row(study: StudyRecord, score: Record) -> dict[str, Any]:
    label = _sided(label_of_run(study, score["run"]), score["target_side"])
    about = {"model": label, "iterations": _iterations(score["objective"])}
    return {**about, **_measured(score), **_beside(study, score, {})}


def _is_of_paper(study: StudyRecord, score: Record, scores: Sequence[Record]) -> bool:
    """The transformer of the paper's tables is of its students' size."""
    students = [_model(study, other) for other in scores if other["objective"] not in TEACHERS]
    return score["objective"] not in TEACHERS or not students or _model(study, score) in students


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
            row: dict[str, Any] = {"corpus": corpus, "model": label_of_run(study, same[0]["run"])}
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
    row = paper_row(objective, side)
    if row is None:
        return {}
    if objective in COMPARED and side == "distilled":
        return published_bleu(study, "axe_against_ce", system=row)
    if objective in TEACHERS:
        return published_bleu(study, "systems", system=row)
    return published_bleu(study, "target_sides", system=row, target_side=side)


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
