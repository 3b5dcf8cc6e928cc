"""Why others cannot rely on a model, in words: no dvc.lock, a model that it does not know, or what changed since."""

import json
from pathlib import Path

import pytest

from axenat.files import UserError, write_yaml
from axenat.serving import pinned
from axenat.serving.pinned import why_unpinned

MODEL = Path("results/runs/axe")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = {"path": str(MODEL / "model.safetensors"), "md5": "0" * 32}
    write_yaml("dvc.lock", {"stages": {"average@axe": {"outs": [out]}}})


@pytest.mark.parametrize(
    ("changed", "named"),
    [("a", "a"), ("abc", "a, b, c"), ("abcd", "a, b, c and 1 more"), ("abcdef", "a, b, c and 3 more")],
)
def test_three_of_those_that_changed_are_named_and_the_others_counted(monkeypatch, changed, named) -> None:
    monkeypatch.setattr(pinned, "dvc", lambda *words: json.dumps(dict.fromkeys(changed, "x")))
    assert why_unpinned(MODEL) == f"dvc status is not clean ({named} changed)"


def test_a_model_can_be_relied_on_if_it_is_recorded_and_nothing_changed(monkeypatch) -> None:
    monkeypatch.setattr(pinned, "dvc", lambda *words: "{}")
    assert why_unpinned(MODEL) == why_unpinned(MODEL.resolve()) == ""
    assert why_unpinned(Path("results/runs/ax")) == "dvc.lock does not know results/runs/ax"
    Path("dvc.lock").unlink()
    assert why_unpinned(MODEL).startswith("there is no dvc.lock")


def test_where_dvc_does_not_answer_nothing_is_relied_on(monkeypatch) -> None:
    def refuse(*words: str) -> str:
        raise UserError("no")

    for answer in (refuse, lambda *words: "no JSON"):
        monkeypatch.setattr(pinned, "dvc", answer)
        assert why_unpinned(MODEL) == "dvc status cannot be told"
