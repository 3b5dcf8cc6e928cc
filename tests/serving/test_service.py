"""A request is translated whole, as `axenat translate` would, or refused whole, in one sentence."""

import ast
import json
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import torch

from axenat.decode.translator import Translator
from axenat.files import UserError, write_json
from axenat.serving.registry import NEEDED, requirements
from axenat.serving.service import Limits, TranslationService
from tests import tiny

TEXT = ["The old man buys a red car today.", "", "a car", "unseen wörds ☃"]


@pytest.fixture(scope="module", params=["left_to_right", "axe"])
def folder(request, tmp_path_factory) -> Path:
    made = tiny.run_folder(tmp_path_factory.mktemp("runs") / "toy", request.param)
    write_json(made / "tuned.json", {"value": 1.0})
    return made


@pytest.fixture(scope="module")
def service(folder) -> TranslationService:
    return TranslationService(folder, Limits(most_lines=6, most_characters=400))


def test_answers_are_the_translations_of_the_run_in_order(folder, service) -> None:
    own = Translator(folder, torch.device("cpu"))
    assert service.answer(TEXT) == [found.text for found in own.translate(TEXT)]
    assert service.answer([]) == []


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ("a car", "expected a list of lines, got str"),
        ({"lines": []}, "expected a list of lines, got dict"),
        (["a car", 3], "line 2 must be text, got int"),
        ([None], "line 1 must be text, got NoneType"),
        (["a\ncar"], "line 1 holds a line break; send each line as an entry of its own"),
        (["a"] * 7, "7 lines, but a request may have 6; send several requests"),
        (["", "x" * 401], "401 characters, but a request may have 400; send several requests"),
        (["a car", "man " * 60], "line 2 has 60 subwords, but the model reads 23; split the line"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_cannot_be_answered_is_one_sentence(service, request_, sentence) -> None:
    with pytest.raises(UserError) as refusal:
        service.answer(request_)
    assert str(refusal.value) == sentence


def test_limits_themselves_are_checked() -> None:
    with pytest.raises(UserError, match="most_lines must be >= 1, got 0"):
        Limits(most_lines=0)


LOADED = """
import json, sys
from pathlib import Path
from axenat.serving.service import Limits, TranslationService
TranslationService(Path(sys.argv[1]), Limits()).answer(["a car"])
print(json.dumps([[name, module.__file__] for name, module in sys.modules.items() if name.startswith("axenat.")]))
print(json.dumps(list(sys.modules)))
"""


def test_a_model_requires_every_package_that_answering_imports(folder) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, str(folder)], capture_output=True, text=True, check=True)
    ours, loaded = map(json.loads, done.stdout.splitlines())
    imported = set()
    for _, path in ours:
        for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            imported |= {name.split(".")[0] for name in names if name in loaded}
    packages = packages_distributions()
    needed = {package.lower() for name in imported - {"axenat"} for package in packages.get(name, [])}
    assert {"torch", "safetensors", "sacremoses"} <= needed
    required = {line.split("==")[0] for line in requirements()}
    assert needed <= required and set(NEEDED) <= required
    assert not [line for line in requirements() if "+" in line]  # no build of this machine
