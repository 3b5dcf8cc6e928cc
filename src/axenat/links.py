"""Names in a study that lead to others: they must be there, fit, and lead nowhere in a circle."""

from typing import TYPE_CHECKING

from axenat.records import ConfigError
from axenat.systems.registry import TEACHERS

if TYPE_CHECKING:
    from axenat.study import Study

# What two models must share for the weights of one to fit the other.
SIZES = ("width", "encoder_layers", "decoder_layers", "heads", "hidden", "max_positions")


def check_links(study: "Study") -> None:
    for name, run in study.runs.items():
        if run.corpus not in study.corpora:
            known = ", ".join(study.corpora)
            raise ConfigError(f"runs.{name}.corpus: unknown corpus {run.corpus!r}; known are {known}")
        if run.target_side == "distilled" and study.corpora[run.corpus].distil is None:
            raise ConfigError(f"runs.{name}.target_side is distilled, but corpora.{run.corpus} has no distil section")
    for name in study.corpora:
        _check_teacher(study, name)
    for name in study.runs:
        _check_start(study, name)


def _check_teacher(study: "Study", corpus: str) -> None:
    distil = study.corpora[corpus].distil
    if distil is None:
        return
    where, teacher = f"corpora.{corpus}.distil.teacher", study.runs.get(distil.teacher)
    if teacher is None:
        raise ConfigError(f"{where}: unknown run {distil.teacher!r}; known are {', '.join(study.runs)}")
    if not teacher.system.teaches or teacher.target_side != "raw" or teacher.corpus != corpus:
        kinds = " or ".join(TEACHERS)
        raise ConfigError(f"{where}: {distil.teacher} must be a {kinds} run on the raw side of {corpus}")


def _check_start(study: "Study", name: str) -> None:
    """Weights fit only where the text and the sizes are the same, and no run may wait for itself."""
    run, where = study.runs[name], f"runs.{name}.start_from"
    if run.start_from is None:
        return
    start = study.runs.get(run.start_from)
    if start is None:
        raise ConfigError(f"{where}: unknown run {run.start_from!r}; known are {', '.join(study.runs)}")
    if start.corpus != run.corpus:
        raise ConfigError(f"{where}: {run.start_from} is of corpus {start.corpus}, must be of {run.corpus}")
    for key in SIZES:
        ours, theirs = getattr(run.model, key), getattr(start.model, key)
        if ours != theirs:
            raise ConfigError(f"{where}: model.{key} of {run.start_from} is {theirs}, must be {ours}")
    if name in _needed_for(study, run.start_from):
        raise ConfigError(f"{where}: {run.start_from} itself waits for {name}")


def _needed_for(study: "Study", run: str) -> set[str]:
    """The run, and all that are trained before it: what it starts from, and the teacher of its targets."""
    found, unseen = {run}, [run]
    while unseen:
        config = study.runs[unseen.pop()]
        distil = study.corpora[config.corpus].distil
        teacher = distil.teacher if distil and config.target_side == "distilled" else None
        for one in (teacher, config.start_from):
            if one in study.runs and one not in found:
                found.add(one)
                unseen.append(one)
    return found
