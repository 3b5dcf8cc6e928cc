"""The rules of the house: imports point down, heavy ones wait, and files stay small."""

import ast
import functools
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "axenat"
MODULES = sorted(SOURCE.rglob("*.py"))
FLOORS = [
    {
        "files",
        "records",
        "languages",
        "archive",
        "decodings",
        "config",
        "corpus_config",
        "recipe",
        "presets",
        "resources",
        "site",
        "links",
        "study",
        "run_kinds",
        "catalogue",
        "layout",
        "jobs",
        "estimates",
        "needs",
        "study_requests",
        "progress",
        "systems",
        "timing",
        "dvc_stages",
        "dvc_command",
        "dvc_lock",
        "notes",
        "earlier_inputs",
    },
    {"data", "model", "losses"},
    {"objectives"},
    {"train", "decode", "evaluate", "tracking", "publishing", "serving", "preflight"},
    {"stages"},
    {"cli"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
BLIND = FLOORS[1]  # rooms of this floor do not see each other
LIGHT = ("cli", *sorted(FLOORS[0]))
HEAVY = ("torch", "numpy", "pandas", "mlflow", "matplotlib", "sacrebleu", "numba")


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """Full names of all modules that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms_seen(path: Path) -> set[str]:
    inside = {name.split(".")[1] for name in imported(path) if name.startswith("axenat.")}
    return inside - {"__version__"}


def test_imports_point_down() -> None:
    assert [complaint for path in MODULES for complaint in _looks_up_or_over(path)] == []


def _looks_up_or_over(path: Path) -> Iterator[str]:
    room = room_of(path)
    if room == "__init__":
        yield from (f"{name_of(path)} looks into {seen}" for seen in rooms_seen(path))
    elif room not in FLOOR:
        yield f"{room} has no floor; give it one in DESIGN and here"
    else:
        for seen in rooms_seen(path):
            if FLOOR[seen] > FLOOR[room]:
                yield f"{name_of(path)} looks up to {seen}"
            if room in BLIND and seen in BLIND and seen != room:
                yield f"{name_of(path)} looks over to {seen}"


@pytest.mark.parametrize(
    "floor", [FLOORS[0], {"data"}, {"model"}, {"losses"}], ids=lambda rooms: "-".join(sorted(rooms))
)
def test_the_lower_floors_are_there(floor) -> None:
    """A renamed room must not slip out of these tests."""
    assert floor <= {room_of(path) for path in MODULES}


def test_what_the_workflow_imports_is_light() -> None:
    names = ", ".join(f"axenat.{name}" for name in LIGHT)
    code = f"import sys, {names}; print(*[heavy for heavy in {HEAVY!r} if heavy in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def offenders(breaks: Callable[[Path], bool], paths: Iterable[Path] = MODULES) -> list[str]:
    """Modules that break a law, all of them in one message."""
    return [name_of(path) for path in paths if breaks(path)]


def test_an_init_file_holds_a_docstring_only() -> None:
    files = [path for path in MODULES if path.name == "__init__.py" and path.parent != SOURCE]
    assert len(files) > 9
    assert offenders(lambda path: [type(node) for node in tree(path).body] != [ast.Expr], files) == []


def test_only_tracking_and_serving_import_mlflow() -> None:
    """The one sends to it; the other is what MLflow itself loads, which must be a model of its kind."""
    others = [path for path in MODULES if room_of(path) not in ("tracking", "serving")]
    assert offenders(lambda path: any(name.split(".")[0] == "mlflow" for name in imported(path)), others) == []


def test_weights_are_never_pickled() -> None:
    forbidden = {"torch.load", "torch.save", "np.load", "numpy.load", "yaml.load"}

    def pickles(path: Path) -> bool:
        called = {ast.unparse(node.func) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)}
        return bool(imported(path) & {"pickle", "joblib", "dill"} or called & forbidden)

    assert offenders(pickles) == []


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_files_and_functions_stay_small() -> None:
    assert offenders(lambda path: lines_of(path) > 300) == []
    functions = [
        (f"{name_of(path)}: {node.name}", (node.end_lineno or 0) - node.lineno)
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > len(MODULES) and all(lines >= 0 for _, lines in functions)
    assert [name for name, lines in functions if lines >= 50] == []


def test_the_winners_of_grids_are_marked_in_one_place() -> None:
    called = [
        name_of(path)
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "mark_chosen"
    ]
    assert called == ["evaluate/comparisons.py"]


def test_things_have_names() -> None:
    assert offenders(lambda path: not ast.get_docstring(tree(path))) == [], "a module's first line says what it is for"
    assert offenders(lambda path: bool(re.search(r"utils?|helpers?|misc|common", path.stem))) == []
    classes = [
        f"{name_of(path)}: {node.name}"
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and re.search("Trainer|Manager|Builder|Helper|Factory", node.name)
    ]
    assert classes == []


def test_a_stage_is_short() -> None:
    stages = sorted((SOURCE / "stages").glob("*.py"))
    assert len(stages) > 20 and offenders(lambda path: lines_of(path) > 100, stages) == []


def test_a_closed_connection_is_an_error_and_does_not_end_the_process() -> None:
    """Some libraries reset SIGPIPE when they are imported, and all test modules are imported by now."""
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN
