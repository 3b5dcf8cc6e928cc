"""One real database for the tests of a module: making its tables takes seconds."""

import os

import pytest

from axenat.files import write_text, write_yaml
from tests.publishing.made import DATA, Store, make_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with a database of its own, as after a demo."""
    folder = tmp_path_factory.mktemp("mlflow")
    before = os.getcwd()
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        make_run(folder / "results", "axe", [3.0, 2.0])
        write_text(folder / "data/demo/test.en", "hello\nworld\n")
        write_text(folder / "logs/train/axe.log", "first\rsecond\nlast\n")
        write_yaml(folder / "data.dvc", {"outs": [{"md5": DATA}]})
        yield folder
    os.chdir(before)


@pytest.fixture
def store(folder) -> Store:
    return Store()
