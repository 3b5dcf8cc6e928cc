"""AXE beside cross entropy, raw beside distilled: which runs of a study stand for each, or in words why none does."""

from collections.abc import Sequence

from axenat.evaluate.comparisons import pairs_to_compare
from axenat.evaluate.seeds import group_of
from axenat.evaluate.study_record import Record, StudyRecord
from axenat.evaluate.table_parts import place as place_of
from axenat.systems.registry import BASELINE, PROPOSED, label_of

Place = tuple[str, str]  # corpus and target side
COMPARED = (BASELINE.name, PROPOSED.name)


def places(study: StudyRecord) -> list[Place]:
    """Where the study trains students, in its own order."""
    students = [run for run in study.runs if run.objective in COMPARED]
    return list(dict.fromkeys(map(place_of, students)))


def named(study: StudyRecord, place: Place) -> str:
    """The corpus only where there are several."""
    corpora = {corpus for corpus, _ in places(study)}
    return f"{place[1]} targets" if len(corpora) < 2 else f"{place[0]}, {place[1]} targets"


def representatives(study: StudyRecord, place: Place, objective: str) -> list[Record]:
    """Scores of the chosen runs there, which ablations never are."""
    return [
        score
        for score in study.shown()
        if score["objective"] == objective and (score["corpus"], score["target_side"]) == place
    ]


def pairs(study: StudyRecord, place: Place) -> list[tuple[Record, Record]]:
    """(AXE, CE) there; of runs that are repeated, the first seed that both have."""
    here = [score for score in study.first_split() if (score["corpus"], score["target_side"]) == place]
    found: dict[tuple[str, ...], tuple[Record, Record]] = {}
    for pair in pairs_to_compare(sorted(here, key=lambda score: score.get("seed") or 0)):
        found.setdefault(tuple(group_of(score) or score["run"] for score in pair), pair)
    return list(found.values())


def all_pairs(study: StudyRecord) -> list[tuple[Record, Record]]:
    return [pair for place in places(study) for pair in pairs(study, place)]


def unscored(study: StudyRecord, place: Place, objectives: Sequence[str] = COMPARED) -> str:
    """Why one of these objectives has no score there; empty if all have."""
    return "; ".join(
        _why_none(study, place, objective) for objective in objectives if not representatives(study, place, objective)
    )


def _why_none(study: StudyRecord, place: Place, objective: str) -> str:
    label = label_of(objective)
    runs = [run.name for run in study.runs if place_of(run) == place and run.objective == objective]
    unknown = [run.name for run in study.runs if not run.config]
    if runs:
        return f"no score of {', '.join(runs)}"
    if unknown:
        return f"nothing is known of {', '.join(unknown)}"
    return f"the study has no {label} run on {named(study, place)}"


def unanalysed(study: StudyRecord, pair: Sequence[Record], key: str) -> str:
    """Which of these runs lack this part of their analysis; empty if none."""
    lacking = [score["run"] for score in pair if not (study.run(score["run"]).analysis() or {}).get(key)]
    return f"no analysis of {', '.join(lacking)}" if lacking else ""
