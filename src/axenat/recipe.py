"""A published corpus as data: which archives it is made of, what is in them, and what should come out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from axenat.archive import Archive, check_places
from axenat.corpus_config import CleanConfig, CorpusConfig, SubwordsConfig, TextConfig
from axenat.files import UserError, read_yaml
from axenat.records import ConfigError, as_plain, at_least, build, merge, one_of

FOLDER = Path(__file__).parent / "recipes"
FORMATS = ("text", "sgm", "tmx")


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Pairs of a split. A file is `archive`, `archive:member`, or `archive:pattern|pattern`.

    Members come pattern by pattern, and in natural order where several match one.
    """

    files: dict[str, str]  # by language
    format: str = "text"
    unspace: tuple[str, ...] = ()  # languages whose lines come with spaces between words that are not theirs
    pairs: int | None = None  # what others counted
    licence: str = ""

    def __post_init__(self) -> None:
        one_of("format", self.format, FORMATS)
        if self.format == "tmx" and len(set(self.files.values())) > 1:
            raise ConfigError(f"files must be one and the same with tmx, got {', '.join(self.files.values())}")
        if self.pairs is not None:
            at_least("pairs", self.pairs, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOut:
    """A dev or test set, which may differ by direction."""

    files: dict[str, dict[str, str]]  # by direction, such as en-ro, then by language
    format: str = "sgm"
    sacrebleu: str = ""  # its name there; a test holds addresses, sums and members against it
    pairs: int | None = None

    def __post_init__(self) -> None:
        if not self.files:
            raise ConfigError("files must hold at least one direction")
        for direction in self.files:
            self.in_direction(direction)  # a part refuses what is wrong

    def in_direction(self, direction: str) -> Part:
        return Part(files=self.files[direction], format=self.format, pairs=self.pairs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """Counts of the default choice of parts, as others report them."""

    raw: int | None = None
    clean: int | None = None
    source: str = ""  # who counted

    def __post_init__(self) -> None:
        for name, count in (("raw", self.raw), ("clean", self.clean)):
            if count is not None:
                at_least(name, count, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """What a study's corpus does unless it says otherwise."""

    text: TextConfig = field(default_factory=TextConfig)
    clean: CleanConfig = field(default_factory=CleanConfig)
    subwords: SubwordsConfig = field(default_factory=SubwordsConfig)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    title: str
    languages: tuple[str, ...]
    archives: dict[str, Archive]
    parts: dict[str, Part]
    sets: dict[str, HeldOut]
    train: tuple[str, ...]
    valid: str
    test: str
    expected: Expected = field(default_factory=Expected)
    steps: Steps = field(default_factory=Steps)
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        if not len(set(self.languages)) == len(self.languages) == 2:
            raise ConfigError(f"languages must be two that differ, got {', '.join(self.languages)}")
        if not self.train:
            raise ConfigError("train must name at least one part")
        _check_parts("train", self.train, self)
        check_places(self.archives)
        one_of("valid", self.valid, tuple(self.sets))
        one_of("test", self.test, tuple(self.sets))
        for name, part in self.parts.items():
            self._check_files(f"parts.{name}", part.files)
            for language in part.unspace:
                one_of(f"parts.{name}: each language in unspace", language, self.languages)
        directions = ("-".join(self.languages), "-".join(reversed(self.languages)))
        for name, held_out in self.sets.items():
            for direction, files in held_out.files.items():
                one_of(f"sets.{name}: each direction in files", direction, directions)
                self._check_files(f"sets.{name}.{direction}", files)

    def _check_files(self, where: str, files: dict[str, str]) -> None:
        if sorted(files) != sorted(self.languages):
            raise ConfigError(
                f"{where} must have a file of each of {', '.join(self.languages)}, got {', '.join(files)}"
            )
        for file in files.values():
            one_of(f"{where}: the archive", archive_of(file), tuple(self.archives))


def _check_parts(where: str, names: tuple[str, ...], recipe: Recipe) -> None:
    for name in names:
        one_of(f"each name in {where}", name, tuple(recipe.parts))
        if names.count(name) > 1:
            raise ConfigError(f"{where} must name each part once, got {name!r} {names.count(name)} times")


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What one corpus of a study takes from its recipe: all that its raw text depends on."""

    title: str
    archives: dict[str, Archive]
    train: dict[str, Part]
    valid: Part
    test: Part
    expected: Expected
    licence: str
    citation: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What the raw text of one split depends on, and nothing else: who else has an archive does not change it."""

    parts: dict[str, Part]
    archives: dict[str, Archive]


def published(selection: Selection, split: str) -> Published:
    parts = selection.train if split == "train" else {split: getattr(selection, split)}
    used = {archive_of(file) for part in parts.values() for file in part.files.values()}
    return Published(
        parts={name: replace(part, pairs=None, licence="") for name, part in parts.items()},
        archives={
            name: replace(archive, addresses=archive.addresses[:1])
            for name, archive in selection.archives.items()
            if name in used
        },
    )


def origin_of(selection: Selection) -> dict[str, Any]:
    """What people should know of the text, and what others counted."""
    parts = {"train": selection.train, "valid": {"valid": selection.valid}, "test": {"test": selection.test}}
    return {
        "title": selection.title,
        "licence": selection.licence,
        "citation": selection.citation,
        "expected": as_plain(selection.expected),
        "archives": {archive.place: archive.sha256 or archive.md5 for archive in selection.archives.values()},
        "parts": {
            split: {name: {"pairs": part.pairs, "licence": part.licence} for name, part in of_split.items()}
            for split, of_split in parts.items()
        },
    }


def select(
    recipe: Recipe,
    *,
    source_language: str,
    target_language: str,
    train_parts: tuple[str, ...] = (),
    valid_set: str | None = None,
    test_set: str | None = None,
) -> Selection:
    """The parts and sets that are asked for, or else the recipe's own choice, in one direction."""
    direction = f"{source_language}-{target_language}"
    if {source_language, target_language} != set(recipe.languages):
        raise ConfigError(f"the recipe is of {' and '.join(recipe.languages)}, not of {direction}")
    names = train_parts or recipe.train
    _check_parts("train_parts", names, recipe)
    train = {name: recipe.parts[name] for name in names}
    valid = _in_direction(recipe, "valid_set", valid_set or recipe.valid, direction)
    test = _in_direction(recipe, "test_set", test_set or recipe.test, direction)
    used = [archive_of(file) for part in (*train.values(), valid, test) for file in part.files.values()]
    return Selection(
        title=recipe.title,
        archives={name: recipe.archives[name] for name in dict.fromkeys(used)},
        train=train,
        valid=valid,
        test=test,
        expected=recipe.expected if set(names) == set(recipe.train) else Expected(),
        licence=recipe.licence,
        citation=recipe.citation,
    )


def _in_direction(recipe: Recipe, where: str, name: str, direction: str) -> Part:
    one_of(where, name, tuple(recipe.sets))
    held_out = recipe.sets[name]
    one_of(f"{where} {name}: the direction", direction, tuple(held_out.files))
    return held_out.in_direction(direction)


def archive_of(file: str) -> str:
    """The archive that a part's file is in."""
    return file.partition(":")[0]


def patterns_of(file: str) -> list[str]:
    """Which members of the archive; none if the archive is the file itself."""
    _, _, patterns = file.partition(":")
    return patterns.split("|") if patterns else []


def archives_needed(recipe: Recipe) -> tuple[str, ...]:
    """Those that the recipe's own choice of train, valid and test is in, whatever the direction."""
    held_out = [files for name in (recipe.valid, recipe.test) for files in recipe.sets[name].files.values()]
    choice = [*(recipe.parts[name].files for name in recipe.train), *held_out]
    return tuple(dict.fromkeys(archive_of(file) for files in choice for file in files.values()))


def recipe_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def load_recipe(name: str) -> Recipe:
    """One of ours by its name, or a file by its path."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        one_of("recipe", name, recipe_names())
        path = FOLDER / f"{name}.yaml"
    return build(Recipe, read_yaml(path), str(path))


def with_steps(where: str, values: Any) -> Any:
    """A corpus laid over the steps of its recipe, so that the recipe's name alone prepares it as published."""
    recipe = values.get("recipe") if isinstance(values, Mapping) else None
    return merge(as_plain(_recipe(where, recipe).steps), values) if isinstance(recipe, str) else values


def selection_of(where: str, corpus: CorpusConfig) -> Selection:
    keys = ("source_language", "target_language", "train_parts", "valid_set", "test_set")
    recipe = _recipe(where, str(corpus.recipe))
    try:
        return select(recipe, **{key: getattr(corpus, key) for key in keys})
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _recipe(where: str, name: str) -> Recipe:
    try:
        return load_recipe(name)
    except UserError as error:
        raise ConfigError(f"{where}.recipe: {error}") from None
