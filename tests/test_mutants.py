"""The list of mutants fits the code, and the tool tells killed mutants from those that survive."""

import ast
import subprocess
from pathlib import Path

import pytest

from tests.mutants.__main__ import main
from tests.mutants.patches import place_of, pytest_words, read_mutants

ROOT = Path(__file__).parents[1]
LEAST = 120
CODE = "def double(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n"
TESTS = """
from axenat.numbers import double, half


def test_double():
    assert double(3) == 6


def test_half():
    assert half(4) == 2


def test_that_always_fails():
    assert False
"""
MUTANT = "- {{name: {name}, says: wrong numbers, find: {find!r}, replace: {replace!r}, tests: {tests!r}}}\n"


def test_every_mutant_of_the_list_changes_one_place_and_still_is_a_program() -> None:
    mutants = read_mutants(ROOT)
    assert len(mutants) >= LEAST
    for mutant in mutants:
        path, text = place_of(mutant, ROOT)
        assert text != path.read_text(encoding="utf-8"), mutant.name
        if path.suffix == ".py":
            ast.parse(text, mutant.name)
        assert pytest_words(mutant, ROOT), f"{mutant.name} names no tests"


def test_every_room_has_mutants() -> None:
    """A room without any would be one whose tests nobody has tested."""
    rooms = {path.parent.name for path in (ROOT / "src/axenat").rglob("*.py") if path.parent.name not in ("axenat",)}
    rooms -= {"kernels"}
    touched = {part for mutant in read_mutants(ROOT) for part in place_of(mutant, ROOT)[0].parts}
    assert rooms - touched == set()
    assert "rules" in touched


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one module, its tests and two mutants, of which the tests notice one."""
    for name, text in {
        "src/axenat/__init__.py": "",
        "src/axenat/numbers.py": CODE,
        "tests/test_numbers.py": TESTS,
        "tests/mutants/list.yaml": MUTANT.format(
            name="triple", find="2 * x", replace="3 * x", tests="test_numbers.py::test_double"
        )
        + MUTANT.format(name="third", find="x / 2", replace="x / 3", tests="test_numbers.py::test_double"),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def test_a_mutant_is_killed_or_survives_and_is_not_run_twice(project: Path, capsys) -> None:
    assert main(["--workers", "1"], project, libraries=()) == 1
    said = capsys.readouterr().out
    assert "1/2 killed   triple" in said and "tests/test_numbers.py::test_double" in said
    assert "2/2 survived third" in said and "survived: third: wrong numbers" in said
    assert "1 of 2 mutants killed, 1 survived" in said
    assert (project / "src/axenat/numbers.py").read_text() == CODE
    assert (project / ".mutants/tree-0/src/axenat/numbers.py").read_text() == CODE

    listed = project / "tests/mutants/list.yaml"
    first, second = listed.read_text().splitlines()
    listed.write_text(f"{first}\n{second.replace('::test_double', '::test_half')}\n")
    (project / "src/axenat/numbers.py").rename(project / "src/axenat/moved.py")
    (project / "tests/test_numbers.py").write_text(TESTS.replace("numbers", "moved"))
    (project / "tests/test_numbers.py").rename(project / "tests/test_moved.py")
    listed.write_text(listed.read_text().replace("test_numbers", "test_moved"))
    assert main(["--workers", "1"], project, libraries=()) == 0
    assert "2 of 2 mutants killed, 0 survived" in capsys.readouterr().out
    assert main([], project, libraries=()) == 0
    assert "2 of 2 mutants killed" in (said := capsys.readouterr().out) and "1/" not in said


def test_a_test_that_always_fails_kills_nothing(project: Path, capsys) -> None:
    listed = project / "tests/mutants/list.yaml"
    listed.write_text(MUTANT.format(name="triple", find="2 * x", replace="3 * x", tests="test_numbers.py -k always"))
    assert main(["--workers", "1"], project, libraries=()) == 1
    said = capsys.readouterr().out
    assert "test_that_always_fails fails without any mutant" in said and "0 of 1 mutants killed" in said


@pytest.mark.parametrize(
    ("find", "sentence"),
    [
        ("return", "triple: its text occurs more than once in numbers.py; see `after`"),
        ("4 * x", "triple: its text is in no file, and must be in exactly one; see `file`"),
    ],
)
def test_a_text_that_is_not_in_one_place_is_refused(project: Path, find: str, sentence: str) -> None:
    listed = project / "tests/mutants/list.yaml"
    listed.write_text(MUTANT.format(name="triple", find=find, replace="x", tests="test_numbers.py"))
    with pytest.raises(SystemExit, match=sentence):
        main([], project, libraries=())
