"""Published values beside our own: which column of the paper a corpus is shown beside, and what is said of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from axenat.evaluate.paper import Values
from axenat.evaluate.study_record import Record, RunRecord, StudyRecord
from axenat.evaluate.table_text import Column, number
from axenat.presets import PRESETS

WORDS = {"tokenised": "tokenised BLEU", "sacrebleu": "sacreBLEU on plain text"}
# What section 4.1 states of students and of the transformer base; the rest is a matter of machines, or left open.
STATED = {
    "model": ("width", "encoder_layers", "decoder_layers", "heads", "hidden", "dropout", "init_std"),
    "objective": ("label_smoothing",),
    "train": (
        "steps", "tokens_per_step", "peak_lr", "warmup_steps", "weight_decay", "adam_beta1", "adam_beta2", "adam_eps",
        "keep_best",
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A column of the paper, and whether it is of the very corpus and direction."""

    name: str
    title: str
    bleu: str
    same: bool


def beside(study: StudyRecord, corpus: str) -> Beside | None:
    name = study.paper_columns.get(corpus, study.published)
    if study.paper is None or name not in study.paper.columns:
        return None
    column = study.paper.columns[name]
    return Beside(name=name, title=column.title, bleu=column.bleu, same=corpus in study.paper_columns)


def published_bleu(study: StudyRecord, table: str, **keys: object) -> Values:
    return study.paper.bleu(table, **keys) if study.paper else {}


def is_shown(study: StudyRecord, corpus: str, side: str) -> bool:
    """Tables 5 to 9 are of distilled data: beside raw runs of the paper's own corpora they would mislead."""
    return side == "distilled" or corpus not in study.paper_columns


def likewise(study: StudyRecord, score: Record) -> float | None:
    """Our BLEU in the convention that the paper scored this corpus with; sacreBLEU where that is not there."""
    column = beside(study, score["corpus"])
    found = (score.get("conventions") or {}).get(column.bleu if column else "") or {}
    value: float | None = found.get("value", score.get("bleu"))
    return value


def cells(
    study: StudyRecord, corpus: str, values: Values, ours: float | None, prefix: str = "", scale: float = 1.0
) -> dict[str, Any]:
    """The published value, and ours less it where corpus and direction are the same; `scale` is of the published."""
    column = beside(study, corpus)
    value = values.get(column.name) if column else None
    value = None if value is None else value * scale
    compared = column is not None and column.same and value is not None and ours is not None
    return {
        f"{prefix}likewise": ours,
        f"{prefix}published": value,
        f"{prefix}published_difference": ours - value if compared else None,  # type: ignore[operator]
    }


def columns(
    study: StudyRecord, corpora: Iterable[str], prefix: str = "", style: str = ".2f", *, scored: bool = False
) -> list[Column]:
    """For `cells`; with `scored`, our BLEU as the paper scores it comes first where differences are taken."""
    found = _columns(study, corpora)
    if not found:
        return []
    others = ", ".join(dict.fromkeys(column.title for column in found if not column.same))
    published = number(f"published, {others}" if others else "published", f"{prefix}published", style)
    if not any(column.same for column in found):
        return [published]
    ours = number("as the paper scores", f"{prefix}likewise", style)
    sign = style.replace(".", "+.", 1)
    return [*([ours] if scored else []), published, number("difference", f"{prefix}published_difference", sign)]


def notes(study: StudyRecord, corpora: Sequence[str], runs: Sequence[str] = (), *, bleu: bool = True) -> list[str]:
    """Where published values come from, and in what the named runs differ from the paper's."""
    return [*_origins(study, corpora, bleu), *_departures(study, [study.run(run) for run in runs])]


def unlike_paper(study: StudyRecord, scores: Sequence[Record]) -> list[str]:
    """Scores that lack the paper's convention must not pass for it."""
    odd = []
    for score in scores:
        column = beside(study, score["corpus"])
        if column and column.same and column.bleu not in (score.get("conventions") or {}):
            odd.append(score["run"])
    return [f"Differs from the paper: sacreBLEU stands in for its own scoring of {', '.join(odd)}."] if odd else []


def _columns(study: StudyRecord, corpora: Iterable[str]) -> list[Beside]:
    return [column for corpus in dict.fromkeys(corpora) if (column := beside(study, corpus))]


def _origins(study: StudyRecord, corpora: Sequence[str], bleu: bool) -> Iterator[str]:
    for corpus in dict.fromkeys(corpora):
        column = beside(study, corpus)
        if column is None or study.paper is None:
            continue
        scored = f", {WORDS[column.bleu]}" if bleu else ""
        text = f"Published: {study.paper.citation}, {column.title}{scored}"
        if column.same:
            yield f"{text}; difference: ours less published."
        else:
            yield f"{text}; that is another corpus than {corpus}, so no difference is taken."


def _departures(study: StudyRecord, runs: Sequence[RunRecord]) -> Iterator[str]:
    """Only where differences are taken: on another corpus nothing is the paper's."""
    found: dict[str, list[str]] = {}
    for run in runs:
        config = run.config or {}
        if config.get("corpus") not in study.paper_columns or run.name in study.teachers:
            continue
        for section, keys in STATED.items():
            for key in keys:
                ours, theirs = (config.get(section) or {}).get(key), PRESETS["base"][section][key]
                if ours is not None and ours != theirs:
                    found.setdefault(f"{section}.{key} is {ours:g}, not {theirs:g}", []).append(run.name)
    for words, names in found.items():
        yield f"Differs from the paper: {words} ({', '.join(names)})."
