"""`axenat translate` as people use it: files and pipes, columns, and clear words when something is wrong."""

import subprocess
import sys

import pytest

from axenat.files import read_lines, write_json, write_lines
from tests import tiny

TEXT = ["The old man buys a red car today.", "", "a car", "the woman sees the old man .", "unseen wörds ☃"]


def axenat(*words, text: bytes | None = None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "axenat.cli", "translate", *map(str, words)]
    return subprocess.run(command, input=text, capture_output=True, check=False)


@pytest.fixture(scope="module", params=["left_to_right", "axe"])
def folder(request, tmp_path_factory):
    made = tiny.run_folder(tmp_path_factory.mktemp("runs") / "toy", request.param)
    write_json(made / "tuned.json", {"value": 1.0})
    return made


def lines_of(done) -> list[str]:
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split("\n")[:-1]


def test_files_and_pipes_give_the_same_lines_in_order_and_empty_ones_stay(folder, tmp_path) -> None:
    write_lines(tmp_path / "in.txt", TEXT)
    piped = axenat("--model", folder, text="".join(f"{line}\n" for line in TEXT).encode())
    assert piped.stderr == b""
    axenat("--model", folder, "--input", tmp_path / "in.txt", "--output", tmp_path / "out.txt", "--lines-at-once", 2)
    assert lines_of(piped) == read_lines(tmp_path / "out.txt")
    assert [bool(line) for line in lines_of(piped)] == [True, False, True, True, True]


def test_columns_are_number_translation_score_and_pairs_of_words(folder) -> None:
    text = "".join(f"{line}\n" for line in TEXT).encode()
    plain = lines_of(axenat("--model", folder, text=text))
    flags = ("--n-best", 3, "--scores", "--alignments", "--lines-at-once", 2)
    rows = [line.split("\t") for line in lines_of(axenat("--model", folder, *flags, text=text))]
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=int)
    for number, line in enumerate(plain, start=1):
        mine = [row for row in rows if row[0] == str(number)]
        assert mine[0][1] == line
        assert 1 <= len(mine) <= 3 and len({row[1] for row in mine}) == len(mine)
        scores = [float(row[2]) for row in mine]
        assert scores == sorted(scores, reverse=True)
        for _, _, _, pairs in mine:
            assert all(pair.count("-") == 1 for pair in pairs.split())
            assert bool(pairs) == bool(line)


def test_bytes_that_are_not_utf_8_are_told_with_their_line_and_nothing_is_written(folder, tmp_path) -> None:
    bad = b"a car\nthe \xff man\n"
    done = axenat("--model", folder, text=bad)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"axenat translate: standard input, line 2: not UTF-8 (invalid start byte)")
    (tmp_path / "in.txt").write_bytes(bad)
    done = axenat("--model", folder, "--input", tmp_path / "in.txt", "--output", tmp_path / "out.txt")
    assert done.returncode == 2 and b"in.txt, line 2: not UTF-8" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--n-best", 0), "--n-best 0: must be at least 1"),
        (("--lines-at-once", 0), "--lines-at-once 0: must be at least 1"),
        (("--decode", "ell0"), "'ell0' is no decoding; allowed are names such as beam1, ell1 and ell5-t4"),
        (("--input", "nowhere.txt"), "nowhere.txt: no such file"),
        (("--engine", "torch", "--precision", "int8"), "torch decodes in float32"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(folder, flags, sentence) -> None:
    done = axenat("--model", folder, *flags, text=b"a car\n")
    assert done.returncode == 2 and done.stdout == b""
    assert done.stderr.decode().startswith("axenat translate: ") and sentence in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_a_decoding_of_the_other_kind_is_refused(folder) -> None:
    other = "ell3" if "left_to_right" in (folder / "config.yaml").read_text() else "beam3"
    done = axenat("--model", folder, "--decode", other, text=b"a car\n")
    assert done.returncode == 2
    assert f"{other} does not decode" in done.stderr.decode()


def test_overlong_lines_are_cut_and_counted_once(folder) -> None:
    text = "\n".join([" ".join(["man"] * 60), "a car", " ".join(["old"] * 70)]).encode()
    done = axenat("--model", folder, "--lines-at-once", 1, text=text)
    assert len(lines_of(done)) == 3
    assert done.stderr.decode().endswith("2 of 3 lines were cut to the model's 23 subwords\n")
