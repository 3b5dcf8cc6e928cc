"""Tables say in what students differ from the paper, on the corpora of the paper, and say it of no other run."""

from pathlib import Path
from typing import Any

from axenat.evaluate.beside_paper import STATED, notes
from axenat.evaluate.paper import load_paper
from axenat.evaluate.study_record import RunRecord, StudyRecord
from axenat.presets import PRESETS

PAPER = load_paper(Path(__file__).parents[2] / "config" / "paper.yaml")


def run(name: str, corpus: str = "own", **changes: dict[str, Any]) -> RunRecord:
    """As the paper's base model, but for these keys of sections."""
    config = {section: {**PRESETS["base"][section], **changes.get(section, {})} for section in STATED}
    return RunRecord(name=name, config={"corpus": corpus, "target_side": "raw", **config})


def departures(*runs: RunRecord, teachers: tuple[str, ...] = ()) -> list[str]:
    study = StudyRecord(
        name="s",
        runs=runs,
        teachers=teachers,
        paper=PAPER,
        published="wmt14-en-de",
        paper_columns={"own": "wmt14-de-en"},
    )
    said = notes(study, ["own"], [one.name for one in runs])
    return [note for note in said if note.startswith("Differs")]


def test_runs_with_the_same_departure_share_a_sentence_and_teachers_are_in_none() -> None:
    """A teacher is no student of the paper's; its size is whatever makes good translations."""
    runs = [run(name, model={"width": 1024}) for name in ("teacher", "one", "two")]
    words = "Differs from the paper: model.width is 1024, not 512"
    assert departures(*runs, teachers=("teacher",)) == [f"{words} (one, two)."]
    assert departures(*runs) == [f"{words} (teacher, one, two)."]
    assert departures(runs[0], teachers=("teacher",)) == []


def test_a_run_on_another_corpus_departs_from_nothing() -> None:
    other = run("other", corpus="multi30k", train={"steps": 7})
    assert departures(other) == []
    assert departures(other, run("own", train={"steps": 7})) == [
        "Differs from the paper: train.steps is 7, not 300000 (own)."
    ]


def test_every_value_that_the_paper_states_is_compared_and_no_other() -> None:
    assert departures(run("same"), run("unstated", train={"validate_every": 12_345})) == []
    for section, keys in STATED.items():
        for key in keys:
            theirs = PRESETS["base"][section][key]
            changed = run("odd", **{section: {key: theirs + 1}})
            assert departures(run("same"), changed) == [
                f"Differs from the paper: {section}.{key} is {theirs + 1:g}, not {theirs:g} (odd)."
            ]
