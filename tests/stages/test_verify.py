"""Results against the books, with a real DVC in a real repository: what differs is told file by file."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from axenat.cli import main
from axenat.files import write_text
from tests.support import warm

STAGES = """
stages:
  text: {cmd: "true", deps: [data], outs: [out: {persist: true}]}
  folder: {cmd: "true", outs: [results: {persist: true}]}
"""


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw text, a file, and a folder with folders and names that sort otherwise as text than as paths."""
    folder = tmp_path_factory.mktemp("books")
    write_text(folder / "dvc.yaml", STAGES)
    write_text(folder / ".dvcignore", "*.part\n")
    for name in ("data/text", "out"):
        write_text(folder / name, "one\n")
    for name in ("b", "a/two", "a/one", "a-b/three", "ä"):
        write_text(folder / "results" / name, f"{name}\n")
    dvc = str(warm.commands() / "dvc")
    for command in (
        [dvc, "init", "-q", "--no-scm"],
        [dvc, "add", "-q", "data"],
        [dvc, "commit", "-q", "-f", "dvc.yaml"],
    ):
        subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.fixture
def recorded(books: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(books, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", warm.path())
    monkeypatch.setenv("DVC_NO_ANALYTICS", "true")
    return tmp_path


def verify(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, str]]:
    code = main(["verify", *arguments])
    printed = capsys.readouterr().out
    return code, dict(line.split(": ", 1) for line in printed.splitlines() if ": " in line)


def test_what_is_recorded_is_as_recorded(recorded: Path, capsys) -> None:
    write_text("results/x.part", "half\n")
    assert verify(capsys) == (0, {})


def test_a_changed_a_lost_and_a_stray_file_are_told_with_both_sums(recorded: Path, capsys) -> None:
    write_text("out", "two\n")
    write_text("results/a/one", "other\n")
    Path("results/b").unlink()
    write_text("results/a/stray", "stray\n")
    code, told = verify(capsys)
    assert code == 1
    assert told == {
        "out": f"expected {md5('one')}, found {md5('two')}",
        "results/a/one": f"expected {md5('a/one')}, found {md5('other')}",
        "results/a/stray": f"expected no file, found {md5('stray')}",
        "results/b": f"expected {md5('b')}, found no file",
    }


def md5(line: str) -> str:
    return hashlib.md5(f"{line}\n".encode()).hexdigest()


@pytest.mark.parametrize(
    "text", ["stages: {a: 3}", "stages: [1]", "stages: {a: {outs: [3]}}", "stages: {a: {outs: x}}"]
)
def test_a_lock_of_another_shape_is_one_sentence_and_not_a_difference(recorded: Path, capsys, text) -> None:
    write_text("odd.lock", text)
    assert main(["verify", "--lock", "odd.lock"]) == 2
    assert capsys.readouterr().err.startswith("axenat verify: odd.lock: ")


def test_without_its_listing_a_folder_is_told_as_a_whole(recorded: Path, capsys) -> None:
    shutil.rmtree(".dvc/cache")
    write_text("results/a/one", "other\n")
    code, told = verify(capsys)
    assert code == 1 and list(told) == ["results"] and told["results"].count(".dir") == 2


def test_changed_raw_text_is_told_too(recorded: Path, capsys) -> None:
    write_text("data/text", "two\n")
    code, told = verify(capsys)
    assert code == 1 and list(told) == ["data/text"]


def test_nothing_to_compare_with_is_one_sentence(recorded: Path, capsys) -> None:
    assert main(["verify", "--lock", "none.lock"]) == 2
    assert capsys.readouterr().err == "axenat verify: none.lock: no such file\n"
