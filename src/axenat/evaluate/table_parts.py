"""What the tables of a study share: the scores and runs they show, captions, and words for what is missing."""

from collections.abc import Iterable, Sequence

from axenat.catalogue import CATALOGUE
from axenat.evaluate.study_record import Record, RunRecord, StudyRecord
from axenat.evaluate.tables import by_split, signatures
from axenat.systems.registry import SYSTEMS, TEACHERS, label_of


def paper_row(objective: str, side: str) -> str | None:
    """The row of config/paper.yaml that such a run reproduces; None if it has a row of its own."""
    return SYSTEMS[objective].paper_rows.get(side) if objective in SYSTEMS else None


def label_of_run(study: StudyRecord, name: str) -> str:
    """Its system's label. A left-to-right student of another depth than the teacher says its layers too."""
    run = study.run(name)
    teachers = {_depth(study.run(teacher)) for teacher in study.teachers}
    differs = is_left_to_right_student(study, run) and _depth(run) not in teachers
    return label_of(run.objective) + (f" {_depth(run)}" if differs else "")


def is_left_to_right_student(study: StudyRecord, run: RunRecord) -> bool:
    """Of a study that knows its teachers."""
    return bool(study.teachers) and run.objective in TEACHERS and run.name not in study.teachers


def _depth(run: RunRecord) -> str:
    """Layers of encoder and decoder, such as 12-1."""
    model = (run.config or {}).get("model") or {}
    return "-".join(str(model.get(f"{part}_layers", "?")) for part in ("encoder", "decoder"))


def scores_on_test(study: StudyRecord, scores: Sequence[Record] | None = None) -> list[Record]:
    """In reading order; of each run's own decoding unless others are given."""
    return by_split(study.scores if scores is None else scores).get("test", [])


def chosen_on_test(study: StudyRecord) -> list[Record]:
    return [score for score in scores_on_test(study) if score["chosen"]]


def chosen_runs(study: StudyRecord) -> list[RunRecord]:
    """Winners of grids and runs outside of them, as far as their configuration is known."""
    return [run for run in study.runs if run.config and run.chosen]


def of_ablation(run: RunRecord) -> bool:
    return run.is_ablation


def delta(run: RunRecord) -> float | None:
    value: float | None = ((run.config or {}).get("objective") or {}).get("skip_target_penalty")
    return value


def place(run: RunRecord) -> tuple[str, str]:
    return corpus_of(run), run.target_side


def corpus_of(run: RunRecord) -> str:
    return (run.config or {}).get("corpus") or "unknown"


def tuned(runs: Iterable[RunRecord]) -> list[Record]:
    return [run.tuned for run in runs if run.tuned]


def caption(study: StudyRecord, what: str, name: str, scored: Sequence[Record]) -> str:
    """One line; BLEU never without its signature."""
    signed = [record for record in scored if record.get("signature")]
    signature = f" Signature: `{'; '.join(signatures(signed))}`." if signed else ""
    place = CATALOGUE[name].place
    number = f" (paper, {place})" if place else ""
    return f"Study {study.name}, {what}{number}.{signature}"


def without(what: str, runs: Sequence[str]) -> list[str]:
    return [f"Missing, without {what}: {', '.join(runs)}."] if runs else []


def unscored(study: StudyRecord) -> list[str]:
    scored = {score["run"] for score in scores_on_test(study)}
    return without("score on test", [run.name for run in study.runs if run.name not in scored])
