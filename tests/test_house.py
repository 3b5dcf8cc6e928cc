"""The rules of the house: imports point down, heavy ones wait, and files stay small."""

import ast
import functools
import re
import signal
import subprocess
import sys
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
        "timing",
        "dvc_stages",
        "dvc_command",
        "dvc_lock",
        "notes",
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


def ids(path: Path) -> str:
    return str(path.relative_to(SOURCE))


each_module = pytest.mark.parametrize("path", MODULES, ids=ids)


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


@each_module
def test_imports_point_down(path) -> None:
    room = room_of(path)
    if room == "__init__":
        assert not rooms_seen(path)
        return
    assert room in FLOOR, f"{room} has no floor; give it one in DESIGN and here"
    for seen in rooms_seen(path):
        assert FLOOR[seen] <= FLOOR[room], f"{ids(path)} looks up to {seen}"
        if room in BLIND and seen in BLIND:
            assert seen == room, f"{ids(path)} looks over to {seen}"


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


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*/__init__.py")), ids=ids)
def test_an_init_file_holds_a_docstring_only(path) -> None:
    if path.parent != SOURCE:
        assert [type(node) for node in tree(path).body] == [ast.Expr]


@each_module
def test_only_tracking_and_serving_import_mlflow(path) -> None:
    """The one sends to it; the other is what MLflow itself loads, which must be a model of its kind."""
    if room_of(path) not in ("tracking", "serving"):
        assert not any(name.split(".")[0] == "mlflow" for name in imported(path))


@each_module
def test_weights_are_never_pickled(path) -> None:
    assert not imported(path) & {"pickle", "joblib", "dill"}
    called = {ast.unparse(node.func) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)}
    assert not called & {"torch.load", "torch.save", "np.load", "numpy.load", "yaml.load"}


@each_module
def test_files_and_functions_stay_small(path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 50, node.name


@each_module
def test_things_have_names(path) -> None:
    assert ast.get_docstring(tree(path)), "a module says in its first line what it is for"
    assert not re.search(r"utils?|helpers?|misc|common", path.stem)
    classes = [node.name for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
    assert not [name for name in classes if re.search("Trainer|Manager|Builder|Helper|Factory", name)]


def test_the_winners_of_grids_are_marked_in_one_place() -> None:
    called = [
        (ast.unparse(node.func), ids(path))
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("mark_chosen", "marked")
    ]
    assert called == [("mark_chosen", "evaluate/comparisons.py"), ("marked", "evaluate/study_files.py")]


@pytest.mark.parametrize("path", sorted((SOURCE / "stages").glob("*.py")), ids=ids)
def test_a_stage_is_short(path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100


def test_a_closed_connection_is_an_error_and_does_not_end_the_process() -> None:
    """Some libraries reset SIGPIPE when they are imported, and all test modules are imported by now."""
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN
