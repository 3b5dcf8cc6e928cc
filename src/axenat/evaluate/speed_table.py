"""Time that training and decoding take, from what a clock said: never the same twice, and never in DVC's keeping."""

from collections.abc import Sequence
from typing import Any

from axenat.evaluate.study_record import Record, StudyRecord
from axenat.evaluate.table_parts import label_of_run, without
from axenat.evaluate.table_text import Table, number, text
from axenat.systems.registry import BASELINE, PROPOSED, TEACHERS

TRAINING_NOTE = (
    "Training: medians of what was logged, in jobs of their own, at other times and perhaps beside other work; "
    "time : CE compares runs of the same corpus, target side, model and tokens a step."
)
DECODING_NOTE = (
    "Decoding: {sentences} sentences of test from ids to ids, systems in turn in one job ({rounds} rounds, medians; "
    "{device}, threads: {threads}). Alone: one sentence at a time. Times the teacher: of its own search."
)


def speed(study: StudyRecord) -> Table:
    """One row a run and decoding; a run that was not decoded here has what is known of its training."""
    training = {record["run"]: record for record in study.speed.get("training") or ()}
    decoding = list(study.speed.get("decoding") or ())
    measured = {record["run"] for record in decoding}
    rows = [_row(study, training.get(record["run"], {}), record, training, decoding) for record in decoding]
    rows += [_row(study, record, {}, training, decoding) for run, record in training.items() if run not in measured]
    order = {run.name: place for place, run in enumerate(study.runs)}
    return Table(
        caption=f"Study {study.name}, training time AXE : CE (paper, section 2, footnote) and decoding speed.",
        columns=[
            text("run", "run"),
            text("model", "objective"),
            text("target side", "target_side"),
            number("tokens/s", "tokens_per_second", ",.0f"),
            number("ms a step", "step_milliseconds", ".1f"),
            number("time : CE", "time_to_ce", ".2f"),
            *([number("published time : CE", "published", ".1f")] if study.paper else []),
            number("training s", "total_seconds", ",.0f"),
            text("decoding", "decode", "engine", "precision"),
            number("sentences/s", "sentences_per_second", ",.0f"),
            number("times the teacher", "batches_to_teacher", ".1f"),
            number("ms alone", "latency_milliseconds", ".2f"),
            number("times the teacher, alone", "alone_to_teacher", ".1f"),
        ],
        rows=sorted(rows, key=lambda row: order.get(row["run"], len(order))),
        notes=_notes(study, decoding) if rows else ["Missing: nothing has been measured; the rule `speed` does."],
    )


def _row(
    study: StudyRecord, trained: Record, decoded: Record, training: dict[str, Record], decoding: Sequence[Record]
) -> dict[str, Any]:
    known = {**trained, **decoded}
    keys = (
        "run", "target_side", "tokens_per_second", "step_milliseconds", "total_seconds", "decode", "engine",
        "precision", "sentences_per_second", "latency_milliseconds",
    )  # fmt: skip
    time = _time_to_ce(trained, training)
    stated = (
        study.paper.stated.training_time_axe_to_ce
        if study.paper and trained.get("objective") == PROPOSED.name
        else None
    )
    return {
        **{key: known.get(key) for key in keys},
        "objective": label_of_run(study, known["run"]),
        "time_to_ce": time,
        "published": stated,
        **_to_teacher(decoded, [record for record in decoding if record["corpus"] == decoded.get("corpus")]),
    }


def _time_to_ce(trained: Record, training: dict[str, Record]) -> float | None:
    """Time of a step beside that of the first cross entropy run of the same shape."""
    same = ("corpus", "target_side", "model", "tokens_per_step")
    if trained.get("objective") in (None, BASELINE.name, *TEACHERS) or not trained.get("step_milliseconds"):
        return None
    for other in training.values():
        is_ce = other["objective"] == BASELINE.name and all(other[key] == trained[key] for key in same)
        if is_ce and other.get("step_milliseconds"):
            return float(trained["step_milliseconds"] / other["step_milliseconds"])
    return None


def _to_teacher(decoded: Record, decoding: Sequence[Record]) -> dict[str, float | None]:
    """How many times as fast; the teacher's own decoding stands first among its own."""
    teacher = next((record for record in decoding if record["objective"] in TEACHERS), None)
    if teacher is None or not decoded:
        return {"batches_to_teacher": None, "alone_to_teacher": None}
    return {
        "batches_to_teacher": decoded["sentences_per_second"] / teacher["sentences_per_second"],
        "alone_to_teacher": teacher["latency_milliseconds"] / decoded["latency_milliseconds"],
    }


def _notes(study: StudyRecord, decoding: Sequence[Record]) -> list[str]:
    machine = study.speed.get("machine") or {}
    told = {"threads": machine.get("threads", "?"), "device": machine.get("device", "?")}
    counts = ", ".join(str(count) for count in sorted({record["num_sentences"] for record in decoding}))
    notes = [TRAINING_NOTE]
    if decoding:
        notes.append(DECODING_NOTE.format(sentences=counts, rounds=study.speed.get("rounds", "?"), **told))
    if study.paper:
        notes.append("Published: training with AXE takes about 1.2 times as long as with CE, on 16 V100 GPUs.")
    known = {record["run"] for record in study.speed.get("training") or () if record.get("step_milliseconds")}
    return [*notes, *without("speed.jsonl of the training", [run.name for run in study.runs if run.name not in known])]
