"""Section 5 of the paper for a study: BLEU by length, position confidence and repetitions, all on test."""

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Any

from axenat.evaluate.beside_paper import beside, cells, columns, is_shown, notes
from axenat.evaluate.paper import LengthRow, Values
from axenat.evaluate.study_record import Record, RunRecord, StudyRecord
from axenat.evaluate.table_parts import (
    caption,
    chosen_runs,
    corpus_of,
    paper_row,
    place,
    scores_on_test,
    unscored,
    without,
)
from axenat.evaluate.table_text import Column, Row, Table, mark, number, text
from axenat.systems.registry import BASELINE, PROPOSED, TEACHERS, label_of

Bound = tuple[int, int | None]
# Of whom the paper has numbers, by the names of its rows.
PAIR = {system.paper_rows["distilled"]: system.name for system in (BASELINE, PROPOSED)}
TRIO = {**PAIR, "teacher": TEACHERS[0]}  # who stands side by side in `lengths`
NEAR = range(-3, 4)  # distances from a token's own position that `confidence` shows
STATED = (
    "Published: section 5 states about 0.14 at ±1, almost a third of the peak, for CE and sentences of more than 30 "
    "tokens of a corpus that it does not name; for AXE it states no number."
)
NO_STUDENT = "This study has no run trained with CE or AXE."


def lengths(study: StudyRecord) -> Table:
    """CE, AXE and the teacher side by side; a teacher of the raw side stands beside both sides."""
    chosen = chosen_runs(study)
    buckets = {run.name: _test_buckets(run) for run in chosen}
    rows: list[Row] = []
    places = list(dict.fromkeys(place(run) for run in chosen if run.objective not in TEACHERS))
    corpora = [corpus for corpus, _ in places]
    for corpus, side in places:
        here = [run for run in chosen if place(run) == (corpus, side)]
        for trio in product(*(_named(here, name) for name in PAIR.values()), _teachers(study, chosen, (corpus, side))):
            for row in _length_rows(trio, buckets):
                rows.append({"corpus": corpus, "target_side": side, **row, **_beside(study, corpus, side, row)})
    rows += _published_lengths(study, corpora)
    missing = without("config.yaml", [run.name for run in study.runs if not run.config])
    missing += without("BLEU by length on test", [name for name, found in buckets.items() if not found])
    said = notes(study, corpora, [run.name for run in chosen]) if rows else []
    return Table(
        caption=caption(study, "BLEU on test by the number N of reference words", "lengths", scores_on_test(study)),
        columns=[
            text("corpus", "corpus"),
            text("target side", "target_side"),
            Column(label="length", keys=("low", "high"), show=_show_bound, numeric=False),
            number("sentences", "num_sentences", "d"),
            *(column for key in TRIO for column in _length_columns(study, key, corpora)),
            text("runs", *(f"{key}_run" for key in TRIO)),
        ],
        rows=rows,
        notes=[*said, *missing] if rows or missing else [NO_STUDENT],
    )


def _named(runs: Sequence[RunRecord], *objectives: str) -> list[str | None]:
    return [run.name for run in runs if run.objective in objectives] or [None]


def _teachers(study: StudyRecord, runs: Sequence[RunRecord], where: tuple[str, str]) -> list[str | None]:
    """The study's own, if they are known; else left-to-right runs of the same side, or of the other."""
    of_corpus = [run for run in runs if corpus_of(run) == where[0]]
    known = [run for run in of_corpus if run.name in study.teachers]
    here = [run for run in known or of_corpus if run.target_side == where[1]]
    beside_students = _named(here, *TEACHERS)
    return beside_students if beside_students[0] else _named(known or of_corpus, *TEACHERS)


def _test_buckets(run: RunRecord) -> dict[Bound, Record]:
    analyses = [analysis for analysis in run.analyses if analysis.get("split") == "test"]
    return {(each["low"], each["high"]): each for analysis in analyses[:1] for each in analysis.get("buckets") or ()}


def _length_rows(trio: Sequence[str | None], buckets: Mapping[str, Mapping[Bound, Record]]) -> list[dict[str, Any]]:
    found = [buckets[run] if run else {} for run in trio]
    rows = []
    for low, high in sorted({bound for each in found for bound in each}, key=lambda bound: bound[0]):
        row: dict[str, Any] = {"low": low, "high": high}
        in_bucket = [each.get((low, high)) or {} for each in found]
        row["num_sentences"] = next(cell["num_sentences"] for cell in in_bucket if cell)
        for key, run, cell in zip(TRIO, trio, in_bucket, strict=True):
            row |= {f"{key}_run": run, f"{key}_bleu": cell.get("bleu")}
        rows.append(row)
    return rows


def _beside(study: StudyRecord, corpus: str, side: str, row: Row) -> dict[str, Any]:
    """Published BLEU of the same bucket, where the corpus is the paper's own."""
    column = beside(study, corpus)
    own = column is not None and column.same and side == "distilled"
    found = [each for each in _published_rows(study) if own and (each.low, each.high) == (row["low"], row["high"])]
    shown: dict[str, Any] = {}
    for key in PAIR:
        values: Values = getattr(found[0], key) if found else {}
        shown |= cells(study, corpus, values, row[f"{key}_bleu"], f"{key}_")
    return shown


def _published_rows(study: StudyRecord) -> Sequence[LengthRow]:
    return study.paper.lengths if study.paper else ()


def _published_lengths(study: StudyRecord, corpora: Sequence[str]) -> list[Row]:
    """Rows of their own beside another corpus, whose sentences are sorted in another way."""
    found = {column.name: column for corpus in corpora if (column := beside(study, corpus)) and not column.same}
    rows: list[Row] = []
    for name, column in found.items():
        for each in _published_rows(study):
            if name not in each.ce:
                continue
            row: dict[str, Any] = {"corpus": column.title, "target_side": "distilled", "num_sentences": None}
            row |= {"low": each.low, "high": each.high}
            row |= {f"{key}_{part}": None for key in TRIO for part in ("run", "bleu", "published_difference")}
            rows.append({**row, "ce_published": each.ce[name], "axe_published": each.axe[name]})
    return rows


def _length_columns(study: StudyRecord, key: str, corpora: Sequence[str]) -> list[Column]:
    ours = number(label_of(TRIO[key]), f"{key}_bleu", ".2f")
    found = [column for corpus in corpora if (column := beside(study, corpus))]
    if key not in PAIR or not found:
        return [ours]
    published = number(f"{ours.label} published", f"{key}_published", ".2f")
    difference = number("difference", f"{key}_published_difference", "+.2f")
    return [ours, published, *([difference] if any(column.same for column in found) else [])]


def _show_bound(row: Row) -> str:
    return f"{row['low']} ≤ N" + (f" < {row['high']}" if row["high"] is not None else "")


def confidence(study: StudyRecord) -> Table:
    """Figure 3 as numbers: how much of a token's probability lies beside its own position."""
    runs = [run for run in chosen_runs(study) if run.objective not in (*TEACHERS, "unknown")]
    rows = [row for run in runs for row in _confidence_rows(study, run)]
    missing = without("config.yaml", [run.name for run in study.runs if not run.config])
    shown = {row["run"] for row in rows}
    missing += without("position confidence on test", [run.name for run in runs if run.name not in shown])
    stated = [STATED] if study.paper and rows else []
    return Table(
        caption=caption(study, "mean probability of a generated token at its own position and beside it, on test",
                        "confidence", ()),
        columns=[
            text("corpus", "corpus"),
            text("target side", "target_side"),
            text("sentences", "size"),
            number("number", "num_sentences", "d"),
            text("model", "model"),
            *(number(f"{offset:+d}" if offset else "0", f"at_{offset}", ".3f") for offset in NEAR),
            number("±1 : 0", "neighbour_to_peak", ".2f"),
            *([number("published ±1", "published", ".2f")] if study.paper else []),
            *([number("published ±1 : 0", "published_to_peak", ".2f")] if study.paper else []),
            text("run", "run"),
        ],
        rows=rows,
        notes=[*stated, *missing] if rows or missing else [NO_STUDENT],
    )  # fmt: skip


def _confidence_rows(study: StudyRecord, run: RunRecord) -> list[dict[str, Any]]:
    analyses = [analysis for analysis in run.analyses if analysis.get("split") == "test"]
    found = (analyses[0].get("confidence") or {}) if analyses else {}
    rows = []
    for size in (size for size in ("short", "long") if size in found):
        at = dict(zip(found[size]["offsets"], found[size]["probability"], strict=True))
        sides = [at[offset] for offset in (-1, 1) if at.get(offset) is not None]
        shown = (size, run.objective) == ("long", BASELINE.name) and is_shown(study, *place(run))
        stated = study.paper.confidence if study.paper and shown else None
        rows.append(
            {
                "corpus": corpus_of(run),
                "target_side": run.target_side,
                "size": size,
                "num_sentences": found[size]["num_sentences"],
                "model": label_of(run.objective),
                **{f"at_{offset}": at.get(offset) for offset in NEAR},
                "neighbour_to_peak": fmean(sides) / at[0] if sides and at.get(0) else None,
                "published": stated.ce_neighbour if stated else None,
                "published_to_peak": stated.ce_neighbour_to_peak if stated else None,
                "run": run.name,
            }
        )
    return rows


def repetitions(study: StudyRecord) -> Table:
    """Every run, with the paper's subword level beside that of words."""
    keys = ("run", "target_side", "skip_target_penalty", "repetition", "repetition_words", "chosen")
    scores = scores_on_test(study)
    rows = []
    for score in scores:
        shown = score["chosen"] and is_shown(study, score["corpus"], score["target_side"])
        values = _published_repetition(study, score["objective"], score["target_side"]) if shown else {}
        published = cells(study, score["corpus"], values, score.get("repetition"), scale=0.01)
        rows.append({**{key: score.get(key) for key in keys}, "model": label_of(score["objective"]), **published})
    corpora = [score["corpus"] for score in scores]
    return Table(
        caption=caption(study, "share of tokens on test that repeat the one before", "repetitions", ()),
        columns=[
            text("run", "run"),
            text("model", "model"),
            text("target side", "target_side"),
            number("δ", "skip_target_penalty", "g"),
            number("subwords", "repetition", ".2%"),
            *columns(study, corpora, style=".2%"),
            number("words", "repetition_words", ".2%"),
            mark("chosen", "chosen"),
        ],
        rows=rows,
        notes=[*notes(study, corpora, [row["run"] for row in rows], bleu=False), *unscored(study)],
    )


def _published_repetition(study: StudyRecord, objective: str, side: str) -> Values:
    rows = study.paper.repetitions if study.paper else ()
    return next((row.percent for row in rows if row.system == paper_row(objective, side)), {})
