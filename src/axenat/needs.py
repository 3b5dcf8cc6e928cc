"""Which runs of a study each table of the paper is made of, and which kind of run it lacks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from axenat.config import PAPER_COLUMNS, RunConfig, is_ablation
from axenat.records import as_plain
from axenat.study import Study
from axenat.systems.registry import BASELINE, PROPOSED, TEACHERS

DELTA = "skip_target_penalty"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """The runs that a row of the paper stands for; what is None may be anything."""

    objective: str
    target_side: str | None = None
    observe: str | None = "some"
    score: str | None = "hidden"

    def keys(self) -> dict[str, str]:
        """What a study writes to have such a run."""
        written = {"objective.name": self.objective, "target_side": self.target_side}
        if self.objective not in TEACHERS:
            written |= {"objective.observe": self.observe, "objective.score": self.score}
        return {key: value for key, value in written.items() if value is not None}

    def unlike(self, run: RunConfig) -> dict[str, str]:
        """The keys in which a run is not of this kind."""
        has: dict[str, str | None] = {"target_side": run.target_side, "objective.name": run.objective.name}
        for key in ("observe", "score"):
            has[f"objective.{key}"] = getattr(run.objective, key, None)
        return {key: value for key, value in self.keys().items() if has[key] != value}


TEACHER, CE, AXE = (Kind(objective=name) for name in (TEACHERS[0], BASELINE.name, PROPOSED.name))


def _on(side: str, *kinds: Kind) -> tuple[Kind, ...]:
    return tuple(replace(kind, target_side=side) for kind in kinds)


# By table; the others take what there is.
KINDS: dict[str, tuple[Kind, ...]] = {
    "axe_against_ce": _on("distilled", CE, AXE),
    "systems": (*_on("raw", TEACHER), *_on("distilled", TEACHER, CE, AXE)),
    "target_sides": (*_on("raw", CE, AXE), *_on("distilled", CE, AXE)),
    "training_objectives": (replace(AXE, observe="none", score="all"), replace(AXE, score="all"), AXE),
    "skip_target_penalty": (AXE,),
    "length_multiplier": (AXE,),
    "lengths": (CE, AXE),
    "confidence": (CE, AXE),
    "repetitions": (CE, AXE),
    "speed": (TEACHER, CE, AXE),
}


def _is_own(run: RunConfig) -> bool:
    return not is_ablation(as_plain(run.objective))


def _is_own_student(run: RunConfig) -> bool:
    return _is_own(run) and not run.system.teaches


USED: dict[str, Callable[[RunConfig], bool]] = {
    "axe_against_ce": _is_own_student,
    "systems": lambda run: run.system.teaches or (_is_own(run) and run.target_side == "distilled"),
    "target_sides": _is_own,
    "training_objectives": lambda run: run.system is PROPOSED,
    "length_multiplier": _is_own_student,
    "lengths": _is_own,
    "confidence": _is_own_student,
    "repetitions": _is_own,
}


def runs_for(study: Study, table: str) -> list[str]:
    """The runs that the table shows, in the order of the study."""
    if table == "corpora":
        return []
    if table == DELTA:
        return [run for grid in _delta_grids(study) for run in study.grids[grid].runs]
    return [name for name, run in study.runs.items() if table not in USED or USED[table](run)]


def grids_for(study: Study, table: str) -> list[str]:
    """Those that say which of the table's runs is chosen."""
    runs = set(runs_for(study, table))
    return [name for name, grid in study.grids.items() if runs & set(grid.runs)]


def _delta_grids(study: Study) -> list[str]:
    return [name for name, grid in study.grids.items() if grid.key == DELTA]


def paper_columns(study: Study) -> dict[str, str]:
    """The corpora that are the paper's own, recipe and direction, each with its column there."""
    columns = {}
    for name, corpus in study.corpora.items():
        column = f"{str(corpus.recipe).partition('-')[0]}-{corpus.source_language}-{corpus.target_language}"
        if column in PAPER_COLUMNS:
            columns[name] = column
    return columns


def side_by_side(study: Study) -> list[tuple[str, str]]:
    """Runs and decodings whose speed is compared, of each corpus: a teacher, a CE and an AXE run, distilled if any is.

    Runs of one shape are equally fast, so that the first of each kind will do.
    """
    found = []
    for corpus in study.corpora:
        runs = {name: run for name, run in study.runs.items() if run.corpus == corpus}
        for kind in (TEACHER, CE, AXE):
            fitting = [name for name, run in runs.items() if not kind.unlike(run)]
            fitting.sort(key=lambda name: (name not in study.teachers, study.runs[name].target_side != "distilled"))
            found += [(name, decode) for name in fitting[:1] for decode in runs[name].decode_names]
    return found


def lacking(study: Study, table: str) -> list[str]:
    """In words, the kinds of run that the table would need and the study has not, and which keys would make them."""
    return list(dict.fromkeys(_lacking(study, table)))


def _lacking(study: Study, table: str) -> Iterator[str]:
    for corpus in study.corpora:
        runs = {name: run for name, run in study.runs.items() if run.corpus == corpus}
        for kind in KINDS.get(table, ()) if runs else ():
            nearest = min(runs, key=lambda name: _distance(kind.unlike(runs[name])))
            keys = kind.unlike(runs[nearest])
            if keys:
                yield f"needs a run like {_written(study, nearest)} with {_listed(keys)}"
    axe = [name for name, run in study.runs.items() if run.system is PROPOSED and _is_own(run)]
    if table == DELTA and axe and not _delta_grids(study):
        yield f"needs a grid in a run like {axe[0]}, objective.{DELTA}: [1, 2, 3, 4, 5]"
    if (
        table == "length_multiplier"
        and axe
        and all(len(study.runs[name].decode.length_multipliers) < 2 for name in axe)
    ):
        yield f"needs a run like {axe[0]} with more than one value in decode.length_multipliers"


def _distance(keys: dict[str, str]) -> tuple[bool, int]:
    """A run of another objective is the last to be like it."""
    return "objective.name" in keys, len(keys)


def _written(study: Study, run: str) -> str:
    """As the study has it: members of a grid are written once."""
    return next((name for name, grid in study.grids.items() if run in grid.runs), run)


def _listed(keys: dict[str, str]) -> str:
    return " and ".join(f"{key}: {value}" for key, value in keys.items())
