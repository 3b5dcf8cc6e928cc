"""The tables of the paper for a study: its records in, one table each out. What is missing is said, not refused."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from axenat.evaluate.comparisons import mark_chosen
from axenat.evaluate.convention_table import conventions
from axenat.evaluate.corpus_table import corpora
from axenat.evaluate.decodings import SIZES, spelled_out
from axenat.evaluate.seed_table import seeds
from axenat.evaluate.study_record import Record, RunRecord, StudyRecord
from axenat.evaluate.table_text import Column, Row, Table, interval, mark, number, text
from axenat.evaluate.tables import OBJECTIVE_LABELS, by_split, signatures

Bound = tuple[int, int | None]
TRIO = {"ce": "masked", "axe": "axe", "teacher": "left_to_right"}  # who stands side by side in `lengths`


def target_sides(study: StudyRecord) -> Table:
    """Each raw run against each distilled one of the same objective."""
    scores = [score for score in _test_scores(study) if score["chosen"]]
    rows = []
    for corpus, objective in dict.fromkeys((score["corpus"], score["objective"]) for score in scores):
        same = [score for score in scores if (score["corpus"], score["objective"]) == (corpus, objective)]
        sides = ([score for score in same if score["target_side"] == side] for side in ("raw", "distilled"))
        for raw, distilled in product(*(side or [{}] for side in sides)):
            row = {"corpus": corpus, "model": _label(objective)}
            for key in ("run", "bleu", "bleu_low", "bleu_high"):
                row |= {f"raw_{key}": raw.get(key), f"distilled_{key}": distilled.get(key)}
            row["difference"] = distilled["bleu"] - raw["bleu"] if raw and distilled else None
            rows.append(row)
    columns = [text("corpus", "corpus"), text("model", "model")]
    for side in ("raw", "distilled"):
        columns.append(number(side, f"{side}_bleu", ".2f"))
        columns.append(interval("95 % interval", f"{side}_bleu_low", f"{side}_bleu_high"))
    columns += [number("difference", "difference", "+.2f"), text("runs", "raw_run", "distilled_run")]
    return Table(
        title="Raw against distilled data",
        caption=_caption(study, "BLEU on test by the target side of train", 4, scores),
        columns=columns,
        rows=rows,
        notes=_unscored(study),
    )


def skip_target_penalty(study: StudyRecord) -> Table:
    """Each grid over delta, as `choose` saw it."""
    grids = [choice for choice in study.choices if choice["key"] == "skip_target_penalty"]
    rows = []
    for grid in grids:
        for candidate in sorted(grid["candidates"], key=lambda candidate: candidate["value"]):
            tuned = study.run(candidate["run"]).tuned or {}
            rows.append(
                {
                    "grid": grid["group"],
                    "skip_target_penalty": candidate["value"],
                    "bleu": candidate["bleu"],
                    "length_multiplier": candidate.get("length_multiplier"),
                    "skip_target_rate": candidate.get("skip_target_rate"),
                    "skip_prediction_rate": tuned.get("skip_prediction_rate"),
                    "run": candidate["run"],
                    "chosen": candidate["run"] == grid["chosen"],
                }
            )
    runs = [study.run(row["run"]) for row in rows]
    notes = [*study.missing, *_without("tuned.json", [run.name for run in runs if not run.tuned])]
    return Table(
        title="Skip-target penalty",
        caption=_caption(study, "BLEU on valid and share of tokens that AXE skips there, by δ", 6, _tuned(runs)),
        columns=[
            text("grid", "grid"),
            number("δ", "skip_target_penalty", "g"),
            number("BLEU", "bleu", ".2f"),
            number("λ", "length_multiplier", "g"),
            number("skip target", "skip_target_rate", ".2%"),
            number("skip prediction", "skip_prediction_rate", ".2%"),
            text("run", "run"),
            mark("chosen", "chosen"),
        ],
        rows=rows,
        notes=notes if rows or notes else ["This study has no grid over skip_target_penalty."],
    )


def length_multiplier(study: StudyRecord) -> Table:
    """One row a run: the paper has one column a run, but a study may have many runs."""
    runs = [run for run in study.runs if run.objective != "left_to_right"]
    tuned = {run.name: run.tuned for run in runs if run.tuned and run.tuned["key"] == "length_multiplier"}
    values = sorted({tried["value"] for record in tuned.values() for tried in record["candidates"]})
    rows = []
    for run, record in tuned.items():
        bleu = {tried["value"]: tried["bleu"] for tried in record["candidates"]}
        rows.append({"run": run, **{f"bleu_{value:g}": bleu.get(value) for value in values}, "best": record["value"]})
    notes = _without("tuned.json", [run.name for run in runs if not run.tuned])
    return Table(
        title="Length multiplier",
        caption=_caption(study, "BLEU on valid by λ, in bold the one that decodes test", 7, _tuned(runs)),
        columns=[text("run", "run"), *map(_multiplier_column, values), number("best λ", "best", "g")],
        rows=rows,
        notes=notes if rows or notes else ["This study has no run with a length multiplier."],
    )


def _multiplier_column(value: float) -> Column:
    plain = number(f"λ = {value:g}", f"bleu_{value:g}", ".2f")

    def show(row: Row) -> str:
        return f"**{plain.show(row)}**" if row["best"] == value else plain.show(row)

    return Column(label=plain.label, keys=plain.keys, show=show)


def lengths(study: StudyRecord) -> Table:
    """CE, AXE and the teacher side by side; a teacher of the raw side stands beside both sides."""
    known = [run for run in study.runs if run.config]
    marked = mark_chosen([{"run": run.name} for run in known], study.choices)
    chosen = [study.run(run["run"]) for run in marked if run["chosen"]]
    buckets = {run.name: _test_buckets(run) for run in chosen}
    rows: list[Row] = []
    for corpus, side in dict.fromkeys(map(_place, (run for run in chosen if run.objective != "left_to_right"))):
        of_corpus = [run for run in chosen if _place(run)[0] == corpus]
        here = [run for run in of_corpus if run.target_side == side]
        teachers = _named(here, "left_to_right") or _named(of_corpus, "left_to_right")
        for trio in product(_named(here, "masked") or [None], _named(here, "axe") or [None], teachers or [None]):
            rows += [{"corpus": corpus, "target_side": side, **row} for row in _length_rows(trio, buckets)]
    notes = _without("config.yaml", [run.name for run in study.runs if not run.config])
    notes += _without("BLEU by length on test", [name for name, found in buckets.items() if not found])
    return Table(
        title="BLEU by target length",
        caption=_caption(study, "BLEU on test by the number N of reference words", 8, _test_scores(study)),
        columns=[
            text("corpus", "corpus"),
            text("target side", "target_side"),
            Column(label="length", keys=("low", "high"), show=_show_bound, numeric=False),
            number("sentences", "num_sentences", "d"),
            *(number(_label(objective), f"{key}_bleu", ".2f") for key, objective in TRIO.items()),
            text("runs", *(f"{key}_run" for key in TRIO)),
        ],
        rows=rows,
        notes=notes if rows or notes else ["This study has no run trained with CE or AXE."],
    )


def _place(run: RunRecord) -> tuple[str, str]:
    return (run.config or {}).get("corpus") or "unknown", run.target_side


def _named(runs: Iterable[RunRecord], objective: str) -> list[str | None]:
    return [run.name for run in runs if run.objective == objective]


def _test_buckets(run: RunRecord) -> dict[Bound, Record]:
    analyses = [analysis for analysis in run.analyses if analysis.get("split") == "test"]
    return {(each["low"], each["high"]): each for analysis in analyses[:1] for each in analysis.get("buckets") or ()}


def _length_rows(trio: Sequence[str | None], buckets: Mapping[str, Mapping[Bound, Record]]) -> list[dict[str, Any]]:
    found = [buckets[run] if run else {} for run in trio]
    rows = []
    for low, high in sorted({bound for each in found for bound in each}, key=lambda bound: bound[0]):
        cells = [each.get((low, high)) or {} for each in found]
        row = {"low": low, "high": high, "num_sentences": next(cell["num_sentences"] for cell in cells if cell)}
        for key, run, cell in zip(TRIO, trio, cells, strict=True):
            row |= {f"{key}_run": run, f"{key}_bleu": cell.get("bleu")}
        rows.append(row)
    return rows


def _show_bound(row: Row) -> str:
    return f"{row['low']} ≤ N" + (f" < {row['high']}" if row["high"] is not None else "")


def repetitions(study: StudyRecord) -> Table:
    """Every run, with the paper's subword level beside that of words."""
    keys = ("run", "target_side", "skip_target_penalty", "repetition", "repetition_words", "chosen")
    rows = [
        {**{key: score.get(key) for key in keys}, "model": _label(score["objective"])} for score in _test_scores(study)
    ]
    return Table(
        title="Repetitions",
        caption=_caption(study, "share of tokens on test that repeat the one before", 9, ()),
        columns=[
            text("run", "run"),
            text("model", "model"),
            text("target side", "target_side"),
            number("δ", "skip_target_penalty", "g"),
            number("subwords", "repetition", ".2%"),
            number("words", "repetition_words", ".2%"),
            mark("chosen", "chosen"),
        ],
        rows=rows,
        notes=_unscored(study),
    )


def decodings(study: StudyRecord) -> Table:
    """Every decoding of every run, its own first; the paper has 5 length candidates throughout."""
    own = {(score["run"], score["decode"]) for score in study.scores}
    keys = (
        "run", "decode", *SIZES, "bleu", "bleu_low", "bleu_high", "repetition", "repetition_words", "valid_share",
        "length_ratio", "engine", "precision", "chosen",
    )  # fmt: skip
    scores = _on_test(study, study.decodings)
    rows = [
        {**{key: score.get(key) for key in keys}, "tuned": (score["run"], score["decode"]) in own}
        for score in map(spelled_out, scores)
    ]
    what = "decodings on test, each with the λ or length penalty that was tuned on valid for the marked one of its run"
    return Table(
        title="Decodings",
        caption=_caption(study, what, None, scores),
        columns=[
            text("run", "run"),
            Column(label="decoding", keys=("decode", *SIZES), show=lambda row: str(row["decode"]), numeric=False),
            mark("tuned", "tuned"),
            number("BLEU", "bleu", ".2f"),
            interval("95 % interval", "bleu_low", "bleu_high"),
            number("repeated", "repetition", ".2%"),
            number("repeated words", "repetition_words", ".2%"),
            number("valid", "valid_share", ".1%"),
            number("length ratio", "length_ratio", ".3f"),
            text("engine", "engine", "precision"),
            mark("chosen", "chosen"),
        ],
        rows=rows,
        notes=_unscored(study),
    )


# The order of the paper, then our own; config.TABLE_NAMES holds the same names.
TABLES: dict[str, Callable[[StudyRecord], Table]] = {
    "target_sides": target_sides,
    "skip_target_penalty": skip_target_penalty,
    "length_multiplier": length_multiplier,
    "lengths": lengths,
    "repetitions": repetitions,
    "decodings": decodings,
    "corpora": corpora,
    "conventions": conventions,
    "seeds": seeds,
}


def _label(objective: str) -> str:
    return OBJECTIVE_LABELS.get(objective, objective)


def _test_scores(study: StudyRecord) -> list[Record]:
    return _on_test(study, study.scores)


def _on_test(study: StudyRecord, scores: Sequence[Record]) -> list[Record]:
    """In reading order, the winners of grids marked."""
    return by_split(mark_chosen(scores, study.choices)).get("test", [])


def _tuned(runs: Iterable[RunRecord]) -> list[Record]:
    return [run.tuned for run in runs if run.tuned]


def _caption(study: StudyRecord, what: str, number_in_paper: int | None, scored: Sequence[Record]) -> str:
    """One line; BLEU never without its signature."""
    signed = [record for record in scored if record.get("signature")]
    signature = f" Signature: `{'; '.join(signatures(signed))}`." if signed else ""
    place = f" (paper, Table {number_in_paper})" if number_in_paper else ""
    return f"Study {study.name}, {what}{place}.{signature}"


def _without(what: str, runs: Sequence[str]) -> list[str]:
    return [f"Missing, without {what}: {', '.join(runs)}."] if runs else []


def _unscored(study: StudyRecord) -> list[str]:
    scored = {score["run"] for score in _test_scores(study)}
    return _without("score on test", [run.name for run in study.runs if run.name not in scored])
