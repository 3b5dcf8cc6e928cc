"""A study: corpora, recipes, and the runs that recipes and grids expand into."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import PurePath
from typing import Any

from axenat.catalogue import TABLE_NAMES
from axenat.config import PAPER_COLUMNS, RunConfig
from axenat.corpus_config import SPLITS, CorpusConfig
from axenat.links import check_links
from axenat.presets import PRESETS
from axenat.recipe import Selection, origin_of, published, selection_of, with_steps
from axenat.records import ConfigError, as_plain, as_resolved, build, check_part, merge, one_of
from axenat.resources import resources_of
from axenat.systems.registry import SYSTEMS, keys_read

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
STUDY_KEYS = ("study", "note", "corpora", "recipes", "runs", "tables", "published", "resources")
# A grid names its runs with the paper's letters where it has one.
SHORT_NAMES = {"skip_target_penalty": "delta"}
SECTIONS_WITH_GRIDS = ("objective", "train", "model")


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """Runs that differ in one key, of which valid BLEU chooses one; runs that differ in their seed are no grid."""

    name: str
    key: str
    runs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    name: str
    note: str
    corpora: dict[str, CorpusConfig]
    runs: dict[str, RunConfig]
    grids: dict[str, Grid]
    selections: dict[str, Selection] = field(default_factory=dict)  # of the corpora that follow a recipe
    tables: tuple[str, ...] = TABLE_NAMES
    published: str = PAPER_COLUMNS[0]  # column of the paper that other corpora than its own are shown beside
    # As written, for a site may be laid over them; the same study, whatever its jobs ask for.
    resources: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def teachers(self) -> list[str]:
        """Runs whose translations become the distilled side of a corpus."""
        return sorted({corpus.distil.teacher for corpus in self.corpora.values() if corpus.distil})

    @property
    def students(self) -> list[str]:
        return [run for run in self.runs if run not in self.teachers]

    def corpus_of(self, run: str) -> CorpusConfig:
        return self.corpora[self.runs[run].corpus]

    def check_targets(self, targets: Iterable[str], rules: Sequence[str]) -> None:
        """A mistyped name is told beside the known ones; Snakemake would only say that no rule makes the file.

        All files of a study lie in folders, so a target without a slash can only be a rule.
        """
        for target in targets:
            if "/" not in target and target not in rules:
                raise ConfigError(f"unknown rule {target!r}; known are {', '.join(rules)}")
            parts = PurePath(normpath(target)).parts
            if parts[:2] != ("results", "runs") or len(parts) == 2:
                continue
            run = parts[2]
            if run not in self.runs:
                raise ConfigError(f"{target}: unknown run {run!r}; known are {', '.join(self.runs)}")
            if len(parts) == 5 and parts[3] in SPLITS:
                self._check_decoding(target, run, parts[4].partition(".")[0])

    def _check_decoding(self, target: str, run: str, decoding: str) -> None:
        """The name in the file must be true: a run is decoded as its configuration says, whatever is asked for."""
        allowed = self.runs[run].decode_names
        if decoding not in allowed:
            raise ConfigError(
                f"{target}: unknown decoding {decoding!r} of {run}; allowed are {', '.join(allowed)}, as its decode "
                "section says; decode.also adds more"
            )

    def section(self, kind: str, name: str, stage: str) -> dict[str, Any]:
        """The keys that one stage of a corpus or run depends on, and no others."""
        if kind == "runs":
            return _run_section(self, name, stage)
        return _corpus_section(self.corpora[name], self.selections.get(name), stage)


def _run_section(study: Study, name: str, stage: str) -> dict[str, Any]:
    config = study.runs[name]
    run = as_resolved(config)
    decode = run.pop("decode")
    if stage == "decode":
        decoding = config.system.decoding
        # `also` is about what is reported: no run reads it.
        read = (*decoding.keys, "engine", "precision", "tokens_per_batch")
        values = {key: value for key, value in decode.items() if key in read}
        return {"run": name, "tuned_key": decoding.tuned.key, **values}
    corpus = study.corpus_of(name)
    languages = {"source_language": corpus.source_language, "target_language": corpus.target_language}
    return {"run": name, **run, **languages, "joint": corpus.subwords.joint}


def _corpus_section(corpus: CorpusConfig, selection: Selection | None, stage: str) -> dict[str, Any]:
    """Some stages work on one split: `clean-train` depends on more than `clean-valid`, and on nothing of test."""
    plain = as_plain(corpus)
    name, _, split = stage.partition("-")
    languages = {key: plain[key] for key in ("source_language", "target_language")}
    if name == "download":
        return {"split": split, **languages, **_raw_text(corpus, selection, split)}
    if name == "origin":
        return origin_of(selection) if selection else {"title": "embedded grammar" if corpus.grammar else "own folder"}
    if name == "clean":
        text = {key: value for key, value in plain["text"].items() if key != "truecase"}  # done later
        return {**languages, "text": text, **(plain["clean"] if split == "train" else {})}
    if name == "subwords":
        return {**languages, "text": plain["text"], **plain["subwords"]}
    section: dict[str, Any] = plain[name] or {}
    return section


def _raw_text(corpus: CorpusConfig, selection: Selection | None, split: str) -> dict[str, Any]:
    if selection is not None:
        return {"published": as_plain(published(selection, split))}
    keys = ["grammar", "folder"]
    if corpus.grammar or split != "train":  # the grammar draws references first
        keys += ["references", "judged"]
    return {key: as_plain(corpus)[key] for key in keys}


def parse_study(values: Any) -> Study:
    """Check a whole configuration once, early, in words."""
    if not isinstance(values, Mapping):
        raise ConfigError("the configuration must be a mapping with the keys " + ", ".join(STUDY_KEYS))
    for key in values:
        if key not in STUDY_KEYS:
            raise ConfigError(f"{key} is not a known key; allowed are {', '.join(STUDY_KEYS)}")
    for key in ("study", "corpora", "runs"):
        if not values.get(key):
            raise ConfigError(f"{key} is missing or empty")
    corpora: dict[str, CorpusConfig] = {}
    selections: dict[str, Selection] = {}
    for name, item in _mapping(values["corpora"], "corpora").items():
        where = f"corpora.{_name('corpora', name)}"
        corpora[name] = build(CorpusConfig, with_steps(where, item), where)
        if corpora[name].recipe:
            selections[name] = selection_of(where, corpora[name])
    recipes = _mapping(values.get("recipes") or {}, "recipes")
    known = {**PRESETS, **recipes}  # a study's own recipe wins: it must mean what it meant before there was a preset
    runs: dict[str, RunConfig] = {}
    grids: dict[str, Grid] = {}
    for name, differences in _mapping(values["runs"], "runs").items():
        _name("runs", name)
        members, key = _expand(name, _with_recipe(f"runs.{name}", differences, known))
        for member, item in members.items():
            if member in runs:
                raise ConfigError(f"runs.{member} is defined twice")
            runs[member] = build(RunConfig, _readable(f"runs.{name}", differences, item), f"runs.{name}")
        if key and key != "seed":  # repeats: the best of them would be chosen for its luck
            grids[name] = Grid(name=name, key=key, runs=tuple(members))
    for name, recipe in recipes.items():  # last, so that a run's mistake is told by the run
        _check_recipe(f"recipes.{_name('recipes', name)}", recipe)
    column = values.get("published") or PAPER_COLUMNS[0]
    one_of("published", column, PAPER_COLUMNS)
    resources = values.get("resources") or {}
    resources_of(resources)
    study = Study(
        name=_name("study", values["study"]),
        note=_note(values.get("note")),
        corpora=corpora,
        runs=runs,
        grids=grids,
        selections=selections,
        tables=_tables(values.get("tables")),
        published=column,
        resources=dict(resources),
    )
    check_links(study)
    return study


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a mapping of names, got {value!r}")
    return value


def _name(where: str, name: Any) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"{where}: {name!r} is not a name; use letters, digits, dots and hyphens")
    return name


def _note(text: Any) -> str:
    if text is not None and not isinstance(text, str):
        raise ConfigError(f"note must be text, got {text!r}; put it in quotes")
    return (text or "").strip()


def _tables(names: Any) -> tuple[str, ...]:
    if names is None:
        return TABLE_NAMES
    if not isinstance(names, list | tuple):
        raise ConfigError(f"tables must be a list of names from {', '.join(TABLE_NAMES)}, got {names!r}")
    for name in names:
        one_of("each name in tables", name, TABLE_NAMES)
    return tuple(dict.fromkeys(names))


def _with_recipe(where: str, values: Any, recipes: Mapping[str, Any]) -> dict[str, Any]:
    """A run laid over its recipe, which may itself lie over a preset, and on nothing else: so there are no circles."""
    differences = dict(_mapping(values, where))
    recipe = differences.pop("recipe", None)
    if recipe is None:
        return differences
    if not isinstance(recipe, str) or recipe not in recipes:
        raise ConfigError(f"{where}.recipe: unknown recipe {recipe!r}; known are {', '.join(recipes)}")
    return merge(_with_recipe(f"recipes.{recipe}", recipes[recipe], PRESETS), differences)


def _readable(where: str, written: Mapping[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """A run without what its recipe says to other systems. What it says itself its system must read."""
    objective = run.get("objective")
    name = objective.get("name") if isinstance(objective, Mapping) else None
    if not isinstance(objective, Mapping) or not isinstance(name, str) or name not in SYSTEMS:
        return run  # refused where the record is built
    of_others = {key for system in SYSTEMS for key in keys_read(system)} - {*keys_read(name)}
    for key in written.get("objective") or {}:
        if key in of_others:
            raise ConfigError(f"{where}.objective.{key}: {name} does not read it; it reads {_listed(name)}")
    return {**run, "objective": {key: value for key, value in objective.items() if key not in of_others}}


def _listed(system: str) -> str:
    return ", ".join(key for key in keys_read(system) if key != "name")


def _check_recipe(where: str, recipe: Any) -> None:
    """Keys and types; what values fit together only a run can tell."""
    members = [_with_recipe(where, recipe, PRESETS)]
    for section, key, grid in _grids(members[0]):
        members = [merge(member, _at(section, key, value)) for member in members for value in grid]
    for member in members:
        check_part(RunConfig, member, where)


def _grids(run: Mapping[str, Any]) -> list[tuple[str, str, list[Any]]]:
    """Section, key and values of each list where one value belongs."""
    found = [("", "seed", run["seed"])] if isinstance(run.get("seed"), list) else []
    for section in SECTIONS_WITH_GRIDS:
        keys = run.get(section)
        if isinstance(keys, Mapping):
            found += [(section, key, value) for key, value in keys.items() if isinstance(value, list)]
    return found


def _at(section: str, key: str, value: Any) -> dict[str, Any]:
    return {section: {key: value}} if section else {key: value}


def _expand(name: str, run: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], str | None]:
    """A list where one value belongs is a grid, and seeds are repeats: one named run for each of its values."""
    grids = _grids(run)
    if not grids:
        return {name: run}, None
    if len(grids) > 1:
        where = ", ".join(key for _, key, _ in grids)
        raise ConfigError(f"runs.{name} has more than one grid ({where}); give each its own run")
    section, key, grid = grids[0]
    if not grid:
        raise ConfigError(f"runs.{name}: the grid of {key} is empty")
    if section == "objective":
        _check_grid_is_read(name, key, run[section].get("name"))
    members = {}
    for value in (value for i, value in enumerate(grid) if value not in grid[:i]):  # 1 and 1.0 are the same
        over = _at(section, key, value)
        members[f"{name}-{SHORT_NAMES.get(key, key.replace('_', '-'))}{value}"] = merge(run, over)
    return members, key


def _check_grid_is_read(run: str, key: str, system: Any) -> None:
    """Otherwise the grid would train the same model several times and choose among equals."""
    if isinstance(system, str) and system in SYSTEMS and key not in keys_read(system):
        raise ConfigError(f"runs.{run}: a grid of {key}, which {system} does not read; it reads {_listed(system)}")
