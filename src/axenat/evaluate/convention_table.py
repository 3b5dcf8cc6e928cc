"""Every run's score in every convention that its language has: what may be compared stands in one column."""

from axenat.evaluate.study_record import Record, StudyRecord
from axenat.evaluate.table_parts import scores_on_test
from axenat.evaluate.table_text import Column, Table, mark, number, text
from axenat.evaluate.tables import signatures


def conventions(study: StudyRecord) -> Table:
    """One row a run; a run has no score in the conventions of another language."""
    told = [score for score in scores_on_test(study) if score.get("conventions")]
    labels = {name: one["label"] for score in told for name, one in score["conventions"].items()}
    rows = [
        {"run": score["run"], "corpus": score["corpus"], "chosen": score["chosen"], **_values(score, labels)}
        for score in told
    ]
    columns: list[Column] = [text("run", "run"), text("corpus", "corpus")]
    columns += [_column(name, label) for name, label in labels.items()]
    untold = [run.name for run in study.runs if run.name not in {score["run"] for score in told}]
    missing = [f"Missing, without scores in all conventions on test: {', '.join(untold)}."] if untold else []
    notes = [f"{label}: {told_once}." for name, label in labels.items() for told_once in _compared(told, name)]
    return Table(
        caption=f"Study {study.name}, test in every convention of its language. {_signed(told, labels)}".strip(),
        columns=[*columns, mark("chosen", "chosen")],
        rows=rows,
        notes=[*notes, *missing],
    )


def _column(name: str, label: str) -> Column:
    """The interval is for programs: a row of intervals is no longer read."""
    shown = number(label, name, ".2f")
    return Column(label=label, keys=(name, f"{name}_low", f"{name}_high"), show=shown.show)


def _values(score: Record, names: dict[str, str]) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for name in names:
        one = score["conventions"].get(name) or {}
        values |= {name: one.get("value"), f"{name}_low": one.get("low"), f"{name}_high": one.get("high")}
    return values


def _compared(scores: list[Record], name: str) -> list[str]:
    return list(
        dict.fromkeys(score["conventions"][name]["compared"] for score in scores if name in score["conventions"])
    )


def _signed(scores: list[Record], labels: dict[str, str]) -> str:
    """No score without its signature."""
    said = []
    for name, label in labels.items():
        signed = [
            {"run": score["run"], **score["conventions"][name]} for score in scores if name in score["conventions"]
        ]
        said.append(f"{label} `{'; '.join(signatures(signed))}`")
    return f"Signatures: {', '.join(said)}." if said else ""
