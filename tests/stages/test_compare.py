"""`axenat compare` on files, as a person calls it."""

from pathlib import Path

import pytest

from axenat.cli import main
from axenat.files import read_json, write_lines
from tests.texts import GOOD, POOR, REFERENCES


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"poor": POOR, "good": GOOD, "ref0": REFERENCES[0], "ref1": REFERENCES[1]}.items():
        write_lines(tmp_path / name, lines)
    write_lines(tmp_path / "subwords", ["ein Au@@ to", *GOOD[1:]])
    write_lines(tmp_path / "pieces", ["▁ein ▁Au to", *GOOD[1:]])
    write_lines(tmp_path / "short", GOOD[:-1])
    write_lines(tmp_path / "empty", [])
    return tmp_path


def test_text_for_people_and_json_for_programs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "poor", "good", "--references", "ref0", "ref1", "--source", "ref0", "--language", "de"]
    assert main([*words, "--names", "CE", "AXE", "--bounds", "1", "8", "--examples", "1", "--json", "out.json"]) == 0
    printed = capsys.readouterr().out
    written = read_json(files / "out.json")
    assert written["names"] == ["CE", "AXE"] and (written["a"], written["b"]) == ("poor", "good")
    assert [bucket["low"] for bucket in written["buckets"]] == [1, 8]
    assert len(written["examples"]["b_better"]) == 1
    main_score = written["conventions"]["sacrebleu"]
    assert f"{main_score['b']['value']:.2f}" in printed and "AXE - CE" in printed and "source" in printed


def test_the_same_file_twice_is_fine(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "good", "good", "--references", "ref0"]) == 0
    assert "+0.00               1.0000                    1.0000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["poor", "short", "--references", "ref0"], "short has 59 lines but poor has 60; they must pair up"),
        (["poor", "good", "--references", "ref0", "short"], "short has 59 lines but poor has 60; they must pair up"),
        (["poor", "good", "--references", "ref0", "--source", "short"], "short has 59 lines but poor has 60"),
        (["empty", "empty", "--references", "empty"], "empty: is empty; a comparison needs at least one line"),
        (["poor", "subwords", "--references", "ref0"], "subwords, line 1: holds subword marks (`@@ `)"),
        (["poor", "good", "--references", "pieces"], "pieces, line 1: holds subword marks (`▁`)"),
        (["poor", "gone", "--references", "ref0"], "gone: no such file"),
        (["poor", "good", "--references", "ref0", "--language", "xx"], "no tokeniser for the language 'xx'"),
        (["poor", "good", "--references", "ref0", "--bounds", "9", "2"], "length bounds must rise"),
        (["poor", "good", "--references", "ref0", "--examples", "-1"], "--examples -1: must be at least 0"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    files: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(["compare", *words, "--json", "out.json"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("axenat compare: ") and says in told.err and told.err.count("\n") == 1
    assert told.out == "" and not (files / "out.json").exists()
