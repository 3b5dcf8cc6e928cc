"""Kinds of runs: which runs a table is made of, and which rows of the paper a run stands for."""

from dataclasses import dataclass, replace

from axenat.config import RunConfig, is_ablation
from axenat.records import as_plain
from axenat.systems.registry import BASELINE, PROPOSED, TEACHERS


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """The runs that a row of the paper stands for. A key that is None may have any value."""

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


def on(side: str, *kinds: Kind) -> tuple[Kind, ...]:
    return tuple(replace(kind, target_side=side) for kind in kinds)


# Which runs a table shows.


def every_run(run: RunConfig) -> bool:
    return True


def no_run(run: RunConfig) -> bool:
    return False


def own(run: RunConfig) -> bool:
    """All but ablations."""
    return not is_ablation(as_plain(run.objective))


def own_students(run: RunConfig) -> bool:
    return own(run) and not run.system.teaches


def teachers_and_distilled(run: RunConfig) -> bool:
    return run.system.teaches or (own(run) and run.target_side == "distilled")


def axe_runs(run: RunConfig) -> bool:
    """Ablations too."""
    return run.system is PROPOSED
