"""Which runs of a study each table and figure is made of, and which kinds of run it lacks."""

from collections.abc import Iterator

from axenat.catalogue import CATALOGUE, PAPER_ITEMS
from axenat.config import PAPER_COLUMNS
from axenat.run_kinds import AXE, CE, TEACHER, own
from axenat.study import Study


def runs_for(study: Study, name: str) -> list[str]:
    """The runs that the table or figure shows, in the order of the study."""
    item = CATALOGUE[name]
    if item.grid:
        return [run for grid in _grids_over(study, item.grid) for run in study.grids[grid].runs]
    return [run for run, config in study.runs.items() if item.runs(config)]


def drawn_runs(study: Study, name: str) -> list[str]:
    """Of a figure. A teacher is shown only where students learn from it: then it is trained and tuned anyway."""
    runs, figure = runs_for(study, name), CATALOGUE[name].figure
    if figure is None or not figure.with_teachers:
        return runs
    taught = [study.corpus_of(run).distil for run in runs if study.runs[run].target_side == "distilled"]
    teachers = {distil.teacher for distil in taught if distil}
    return [*(run for run in study.runs if run in teachers), *runs]


def grids_for(study: Study, name: str) -> list[str]:
    """Those that say which of the item's runs is chosen."""
    runs = set(runs_for(study, name))
    return [grid for grid, found in study.grids.items() if runs & set(found.runs)]


def _grids_over(study: Study, key: str) -> list[str]:
    return [name for name, grid in study.grids.items() if grid.key == key]


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


def lacking_for(study: Study, targets: set[str]) -> Iterator[str]:
    """Of the tables that are asked for, as items of the paper, by their names or all of them: what the study lacks."""
    for table, item in CATALOGUE.items():
        target = PAPER_ITEMS.get(table, table)
        if item.table and (target in targets or ("tables" in targets and table in study.tables)):
            yield from (f"{target} ({table}) {sentence}" for sentence in lacking(study, table))


def lacking(study: Study, name: str) -> list[str]:
    """In words, the kinds of run that the item would need and the study has not, and which keys would make them."""
    return list(dict.fromkeys(_lacking(study, name)))


def _lacking(study: Study, name: str) -> Iterator[str]:
    item = CATALOGUE[name]
    for corpus in study.corpora:
        runs = {run: config for run, config in study.runs.items() if config.corpus == corpus}
        for kind in item.kinds if runs else ():
            nearest = min(runs, key=lambda run: _distance(kind.unlike(runs[run])))
            keys = kind.unlike(runs[nearest])
            if keys:
                yield f"needs a run like {_written(study, nearest)} with {_listed(keys)}"
    objectives = {kind.objective for kind in item.kinds}
    like = [run for run, config in study.runs.items() if config.objective.name in objectives and own(config)]
    if item.grid and like and not _grids_over(study, item.grid):
        yield f"needs a grid in a run like {like[0]}, objective.{item.grid}: {item.grid_like}"
    if item.several and like and all(len(getattr(study.runs[run].decode, item.several)) < 2 for run in like):
        yield f"needs a run like {like[0]} with more than one value in decode.{item.several}"


def _distance(keys: dict[str, str]) -> tuple[bool, int]:
    """A run of another objective is the last to be like it."""
    return "objective.name" in keys, len(keys)


def _written(study: Study, run: str) -> str:
    """As the study has it: members of a grid are written once."""
    return next((name for name, grid in study.grids.items() if run in grid.runs), run)


def _listed(keys: dict[str, str]) -> str:
    return " and ".join(f"{key}: {value}" for key, value in keys.items())
