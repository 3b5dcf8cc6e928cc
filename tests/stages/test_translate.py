"""`axenat translate` as people use it: files and pipes, columns, and clear words when something is wrong."""

import subprocess
import sys

import pytest
import torch

from axenat.decode.translator import Translator
from axenat.decode.word_alignment import word_alignments
from axenat.files import read_lines, write_json, write_lines
from tests import tiny
from tests.support import warm

TEXT = ["The old man buys a red car today.", "", "a car", "the woman sees the old man .", "unseen wörds ☃"]


def axenat(*words, text: bytes | None = None) -> subprocess.CompletedProcess:
    command = [warm.axenat(), "translate", *map(str, words)]
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


def test_columns_hold_what_the_translator_says(folder, tmp_path) -> None:
    write_lines(tmp_path / "in.txt", TEXT)
    out = ["--output", tmp_path / "out.txt", "--tokenised", tmp_path / "words.txt", "--subwords", tmp_path / "bpe.txt"]
    flags = ("--n-best", 2, "--scores", "--alignments", "--engine", "torch", "--lines-at-once", 3)
    done = axenat("--model", folder, "--input", tmp_path / "in.txt", *out, *flags)
    assert done.returncode == 0, done.stderr.decode()
    translator = Translator(folder, torch.device("cpu"), engine="torch")
    words = translator.tokenise(TEXT)
    expected = []
    for number, (line, found) in enumerate(zip(words, translator.best_translations(words, 2), strict=True), start=1):
        for one in found:
            (pairs,) = word_alignments(translator, [line], [one])
            columns = (number, one.text, f"{one.score:.4f}", " ".join(f"{source}-{target}" for source, target in pairs))
            expected.append("\t".join(map(str, columns)))
    assert read_lines(tmp_path / "out.txt") == expected
    best = translator.translate(TEXT)
    assert read_lines(tmp_path / "words.txt") == [one.words for one in best]
    assert read_lines(tmp_path / "bpe.txt") == [one.subwords for one in best]


def test_in_a_conversation_each_line_is_answered_before_the_next(folder) -> None:
    command = [warm.axenat(), "translate", "--model", str(folder), "--lines-at-once", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as talk:
        for line in TEXT[:3]:
            talk.stdin.write(f"{line}\n".encode())
            talk.stdin.flush()
            assert bool(talk.stdout.readline().strip()) == bool(line)
        talk.stdin.close()
    assert talk.returncode == 0


def test_standard_output_by_name_keeps_what_stands_before_and_after(folder, tmp_path) -> None:
    write_lines(tmp_path / "in.txt", ["a car"])
    with (tmp_path / "all.txt").open("w") as shared:
        print("before", file=shared, flush=True)
        files = ["--output", "/dev/stdout", "--input", str(tmp_path / "in.txt")]
        subprocess.run([warm.axenat(), "translate", "--model", str(folder), *files], stdout=shared, check=True)
        shared.seek(0, 2)
        print("after", file=shared)
    lines = read_lines(tmp_path / "all.txt")
    assert (len(lines), lines[0], lines[2]) == (3, "before", "after")


def test_closed_streams_are_one_sentence(tmp_path) -> None:
    folder = tiny.run_folder(tmp_path / "toy", "axe")
    for closed in ("<&-", ">&-"):
        words = f"{sys.executable} -m axenat.cli translate --model {folder} {closed}"
        done = subprocess.run(["bash", "-c", words], capture_output=True, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 2
        assert (
            done.stderr
            == b"axenat translate: standard input or output is closed; name files with --input and --output\n"
        )


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
        (
            ("--engine", "torch", "--precision", "int8"),
            "decode.precision of engine torch must be one of auto, float32, float16",
        ),
        (("--device", "meta"), "--device meta: not a device of ours; use auto, cpu, cuda or cuda:0"),
        (("--device", "cpu:3"), "--device cpu:3: not a device of ours"),
        (("--output", "x.txt", "--record", "./x.txt"), "x.txt: named for two outputs; give each a file of its own"),
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
