"""Every flag of every command is read, and every record that is read from a file has a law about its keys."""

import argparse
import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import axenat
from axenat.cli import STAGES

ROOT = Path(__file__).parents[2]
SOURCE = Path(axenat.__file__).parent
# Records whose keys are asked about here, in tests/wiring.
ASKED = {
    "ModelConfig", "Settings", "TrainConfig", "DecodeConfig", "RunConfig", "CorpusConfig", "GrammarConfig",
    "TextConfig", "CleanConfig", "SubwordsConfig", "DistilConfig", "AnalysisConfig", "Ask", "Site", "Recipe", "Archive",
    "Part", "HeldOut", "Expected", "Steps", "Origin", "Published", "TextSection",
}  # fmt: skip
# And elsewhere, with the file.
ASKED_ELSEWHERE = {
    "Drawing": "test_drawing.py",
    "Paper": "test_paper.py",
    "PrintedTable": "test_study_tables.py",
    "ShardRecord": "test_gather.py",
    "StudyRequest": "test_study_requests.py",
}


def modules() -> dict[str, ast.Module]:
    """By their paths below axenat, such as stages/train."""
    paths = {path.relative_to(SOURCE).with_suffix("").as_posix(): path for path in SOURCE.rglob("*.py")}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}


MODULES = modules()


def flags(stage: str) -> list[str]:
    """Names under which a command finds what was given."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"axenat.stages.{stage}").add_arguments(parser)
    return [action.dest for action in parser._actions if action.dest != "help"]


def read_in(module: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """What is read of `args`, or may be by its name, here and in the modules of stages that are imported here."""
    tree = MODULES[module]
    for node in ast.walk(tree):
        if _is_of_args(node):
            yield node.attr  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "vars"):
            yield from _words(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("axenat.stages"):
            of = (node.module or "").removeprefix("axenat.").replace(".", "/")
            names = [of, *(f"{of}/{alias.name}" for alias in node.names)]
            for name in (name for name in names if name in MODULES and name not in seen | {module}):
                yield from read_in(name, seen | {module})


def _words(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value


@pytest.mark.parametrize("stage", STAGES)
def test_every_flag_is_read(stage) -> None:
    read = set(read_in(f"stages/{stage}"))
    assert [
        f"axenat {stage} --{flag.replace('_', '-')}: nothing reads it" for flag in flags(stage) if flag not in read
    ] == []


@pytest.mark.parametrize("stage", STAGES)
def test_no_command_reads_a_flag_that_it_has_not(stage) -> None:
    own = {node.attr for node in ast.walk(MODULES[f"stages/{stage}"]) if _is_of_args(node)}
    assert own <= {*flags(stage)}


def _is_of_args(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "args"


def test_every_stage_is_a_command_and_every_command_a_stage() -> None:
    folder = importlib.import_module("axenat.stages").__path__
    with_flags = {info.name for info in pkgutil.iter_modules(folder) if _defines(info.name, "add_arguments", "main")}
    assert with_flags == set(STAGES)


def _defines(module: str, *names: str) -> bool:
    return {*names} <= {node.name for node in MODULES[f"stages/{module}"].body if isinstance(node, ast.FunctionDef)}


def records() -> Iterator[str]:
    """The first argument of each `build(...)`, and the records inside it."""
    for tree in MODULES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "build" and node.args:
                first = node.args[0]
                if isinstance(first, ast.Name) and first.id[0].isupper():
                    yield from _with_inner(first.id)


def _with_inner(name: str) -> Iterator[str]:
    yield name
    if name in ASKED_ELSEWHERE:
        return
    for tree in MODULES.values():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                fields = [ast.unparse(item.annotation) for item in node.body if isinstance(item, ast.AnnAssign)]
                inner = {word for field in fields for word in re.findall(r"[A-Z]\w+", field)}
                yield from (deep for word in inner & CLASSES for deep in _with_inner(word))


CLASSES = {node.name for tree in MODULES.values() for node in tree.body if isinstance(node, ast.ClassDef)}


def test_every_record_that_is_read_from_a_file_has_a_law_about_its_keys() -> None:
    missing = sorted({*records()} - ASKED - ASKED_ELSEWHERE.keys())
    assert missing == [], "add looks at these to tests/wiring"
    for name in ASKED:
        said = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*_*.py"))
        assert re.search(rf"\b{name}\b", said), f"nothing in tests/wiring asks about {name}"
    for name in ASKED_ELSEWHERE.values():
        assert list(ROOT.glob(f"tests/**/{name}"))
