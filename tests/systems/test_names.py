"""What distinguishes a system is in its folder: nothing else asks for a system by its name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from axenat.systems.registry import SYSTEMS

SOURCE = Path(__file__).parents[2] / "src" / "axenat"
# The code of systems, and the file of the paper's claims, which are about AXE and cross entropy.
OWN = ("systems/", "objectives/", "evaluate/verdicts.py")
NAME = re.compile(rf"\b({'|'.join(SYSTEMS)})\b")


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """All pieces of text in the code, but for docstrings and for the names of variables in an f-string."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
            yield node.lineno, node.value


def test_no_file_outside_of_a_system_spells_its_name() -> None:
    paths = [path for path in SOURCE.rglob("*.py") if not str(path.relative_to(SOURCE)).startswith(OWN)]
    spelled = [f"{path}:{line}: {text!r}" for path in paths for line, text in strings(path) if NAME.search(text)]
    assert len(paths) > 100 and spelled == []


def test_the_workflow_spells_none_either() -> None:
    rules = [path for path in (SOURCE.parents[1] / "workflow").rglob("*") if path.suffix == ".smk"]
    quoted = re.compile(rf"[\"']({'|'.join(SYSTEMS)})[\"']")
    assert rules and [str(path) for path in rules if quoted.search(path.read_text(encoding="utf-8"))] == []
