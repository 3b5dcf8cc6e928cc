"""The list of mutants: each replaces one piece of text in the code and names the tests that must notice."""

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LISTS = "tests/mutants"
PLACES = ("src/axenat", "workflow")
CODE = (".py", ".smk", ".yaml", ".j2", ".js")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    name: str
    # What goes wrong for a user.
    says: str
    find: str
    replace: str
    # Names of test files, each with further words for pytest: "test_tune.py -k grid".
    tests: tuple[str, ...]
    # The file's name, where the text alone occurs in several files.
    file: str = ""
    # The text that stands above, where it occurs several times in one file.
    after: str = ""
    # Why no test can or need notice; every other survivor is a gap.
    survives: str = ""


def read_mutants(root: Path) -> list[Mutant]:
    found = [_mutant(path, values) for path in sorted((root / LISTS).glob("*.yaml")) for values in _entries(path)]
    names = Counter(one.name for one in found)
    if twice := [name for name, count in names.items() if count > 1]:
        raise SystemExit(f"mutants: defined twice: {', '.join(twice)}")
    return found


def _entries(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return entries


def _mutant(path: Path, values: dict[str, Any]) -> Mutant:
    tests = values.get("tests", [])
    try:
        return Mutant(**{**values, "tests": (tests,) if isinstance(tests, str) else tuple(tests)})
    except TypeError as error:
        raise SystemExit(f"{path.name}: {values.get('name')}: {error}") from None


def source_files(tree: Path) -> Iterator[Path]:
    for place in PLACES:
        yield from sorted(path for path in (tree / place).rglob("*") if path.suffix in CODE or path.name == "Snakefile")


def place_of(mutant: Mutant, tree: Path) -> tuple[Path, str]:
    """The file that holds the mutant's text, and its content with the mistake in place.

    A file is found by its text, so that moving it costs nothing.
    """
    found = []
    for path in source_files(tree):
        if mutant.file in ("", path.name):
            text = path.read_text(encoding="utf-8")
            below = text[text.index(mutant.after) :] if mutant.after in text else ""
            if mutant.find in below:
                found.append((path, text.removesuffix(below), below))
    if len(found) != 1:
        names = ", ".join(str(path.relative_to(tree)) for path, _, _ in found) or "no file"
        raise SystemExit(f"mutants: {mutant.name}: its text is in {names}, and must be in exactly one; see `file`")
    path, above, below = found[0]
    if not mutant.after and below.count(mutant.find) > 1:
        raise SystemExit(f"mutants: {mutant.name}: its text occurs more than once in {path.name}; see `after`")
    return path, above + below.replace(mutant.find, mutant.replace, 1)


def pytest_words(mutant: Mutant, tree: Path) -> list[list[str]]:
    """Arguments of pytest for each of the mutant's tests; a test file is found by its name alone."""
    return [[*_test_file(name, mutant, tree), *more] for name, *more in map(shlex.split, mutant.tests)]


def _test_file(name: str, mutant: Mutant, tree: Path) -> list[str]:
    """By its path below tests/, or by its bare name wherever it lies, so that moving it costs nothing."""
    file, colons, function = name.partition("::")
    here = tree / "tests" / file
    found = [here] if here.is_file() else sorted((tree / "tests").rglob(file))
    if len(found) != 1:
        raise SystemExit(f"mutants: {mutant.name}: {len(found)} test files are called {file}")
    return [f"{found[0].relative_to(tree)}{colons}{function}"]
