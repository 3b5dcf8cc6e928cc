"""clean, learn_subwords and encode: from raw text to ids, or one sentence and nothing written."""

import argparse
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections import Counter

import pytest
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from axenat.data import learning, lines
from axenat.data.corpus import ParallelCorpus
from axenat.data.demo import demo_corpus
from axenat.data.side import Side
from axenat.data.subwords import undo
from axenat.data.text import detokenise
from axenat.data.vocab import EOS, UNK, Vocab
from axenat.files import UserError, read_lines, write_lines, write_yaml
from axenat.stages import clean, encode, learn_subwords

ENGLISH = [
    "The old man buys a red car today.",
    "",
    "In the morning, the woman reads a book.",
    "Yes.",
    "The old man buys a red car today.",
    "She doesn't sleep at home.",
]
GERMAN = [
    "Der alte Mann kauft heute ein rotes Auto.",
    "Nichts.",
    "Morgens liest die Frau ein Buch.",
    "Ja, das ist wirklich eine sehr, sehr gute Frage!",
    "Der alte Mann kauft heute ein rotes Auto.",
    "Sie schläft nicht daheim.",
]
CLEAN = {
    "source_language": "en",
    "target_language": "de",
    "min_length": 1,
    "max_length": 50,
    "max_ratio": 3.0,
    "drop_duplicates": True,
}
SUBWORDS = {"source_language": "en", "target_language": "de", "merges": 30, "joint": True}


def run(stage, *flags) -> None:
    parser = argparse.ArgumentParser()
    stage.add_arguments(parser)
    stage.main(parser.parse_args([str(flag) for flag in flags]))


class Folder:
    """Raw text and configs in a temporary folder, and the three stages on them."""

    def __init__(self, path) -> None:
        self.path = path
        self.raw = (path / "train.en", path / "train.de")
        self.out = path / "out"
        self.words = (self.out / "train.source", self.out / "train.target")
        write_lines(self.raw[0], ENGLISH)
        write_lines(self.raw[1], GERMAN)

    def clean(self, split="train", threads=1, **changes) -> None:
        write_yaml(self.path / "clean.yaml", CLEAN | changes)
        flags = ["--config", self.path / "clean.yaml", "--source", self.raw[0], "--target", self.raw[1]]
        flags += ["--out-source", self.words[0], "--out-target", self.words[1]]
        run(clean, *flags, "--counts", self.out / "counts.json", "--split", split, "--threads", threads)

    def learn_subwords(self, threads=1, **changes) -> None:
        write_yaml(self.path / "subwords.yaml", SUBWORDS | changes)
        flags = [
            "--config",
            self.path / "subwords.yaml",
            "--source",
            self.words[0],
            "--target",
            self.words[1],
        ]
        run(learn_subwords, *flags, "--out", self.out / "subwords", "--threads", threads)

    def encode(self, threads=1) -> None:
        flags = ["--subwords", self.out / "subwords", "--source", self.words[0], "--target", self.words[1]]
        run(encode, *flags, "--out", self.out / "train.safetensors", "--threads", threads)

    def vocab(self, side: str) -> Vocab:
        return Vocab.load(self.out / "subwords" / f"vocab.{side}")


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


def test_train_is_filtered_and_each_dropped_pair_has_a_reason(folder) -> None:
    folder.clean()
    assert read_lines(folder.words[0]) == [
        "The old man buys a red car today .",
        "In the morning , the woman reads a book .",
        "She doesn 't sleep at home .",
    ]
    assert len(read_lines(folder.words[1])) == 3
    counts = json.loads((folder.out / "counts.json").read_text())
    assert counts == {
        "split": "train",
        "pairs": 6,
        "kept": 3,
        "dropped": {"empty": 1, "too_short": 0, "too_long": 0, "ratio": 1, "wrong_script": 0, "duplicate": 1},
        "source_words": sum(len(line.split()) for line in read_lines(folder.words[0])),
        "target_words": sum(len(line.split()) for line in read_lines(folder.words[1])),
    }


@pytest.mark.parametrize("split", ["valid", "test"])
def test_valid_and_test_keep_every_line_in_order(folder, split) -> None:
    folder.clean(split)
    for words, raw, language in zip(folder.words, (ENGLISH, GERMAN), ("en", "de"), strict=True):
        assert [detokenise(line, language) for line in read_lines(words)] == raw
    assert json.loads((folder.out / "counts.json").read_text())["kept"] == 6


@pytest.mark.parametrize("joint", [True, False])
def test_ids_lead_back_to_the_raw_text(folder, joint) -> None:
    folder.clean()
    folder.learn_subwords(joint=joint)
    folder.encode()
    corpus = ParallelCorpus(folder.out / "train.safetensors")
    source_vocab, target_vocab = folder.vocab("source"), folder.vocab("target")
    corpus.check_vocab(source_vocab, target_vocab)
    kept = [0, 2, 5]
    assert len(corpus) == len(kept)
    for i, line in enumerate(kept):
        source, target = corpus.source(i).tolist(), corpus.target(i).tolist()
        assert source[-1] == target[-1] == EOS
        assert detokenise(undo(source_vocab.decode(source[:-1])), "en") == ENGLISH[line]
        assert detokenise(undo(target_vocab.decode(target[:-1])), "de") == GERMAN[line]


def test_joint_subwords_are_the_same_files_for_both_sides_and_separate_ones_are_not(folder) -> None:
    folder.clean()
    for joint in (True, False):
        folder.learn_subwords(joint=joint)
        for name in ("codes", "vocab"):
            source, target = ((folder.out / "subwords" / f"{name}.{side}") for side in ("source", "target"))
            assert (source.read_bytes() == target.read_bytes()) is joint


def test_a_capped_vocabulary_sends_the_rest_to_unk(folder) -> None:
    folder.clean()
    folder.learn_subwords(max_vocabulary=12)
    folder.encode()
    assert len(folder.vocab("source")) == 12
    assert UNK in ParallelCorpus(folder.out / "train.safetensors").source(0)


def _different_line_counts(folder) -> None:
    write_lines(folder.raw[1], GERMAN[:-1])


def _empty_corpus(folder) -> None:
    for path in folder.raw:
        write_lines(path, [])


def _missing_file(folder) -> None:
    folder.raw[1].unlink()


def _invalid_utf8(folder) -> None:
    folder.raw[1].write_bytes(b"Der alte Mann\nf\xe4hrt\n" + b"x\n" * 4)


def _nothing_left(folder) -> None:
    write_lines(folder.raw[1], [""] * 6)


BROKEN = [
    (_different_line_counts, "has 6 lines but .* has 5"),
    (_empty_corpus, "are empty"),
    (_missing_file, "no such file"),
    (_invalid_utf8, "line 2: not UTF-8"),
]


@pytest.mark.parametrize(("damage", "sentence"), [*BROKEN, (_nothing_left, "no pair is left .*6 .*empty")])
def test_clean_refuses_broken_text_by_name_and_writes_nothing(folder, damage, sentence) -> None:
    damage(folder)
    with pytest.raises(UserError, match=sentence) as caught:
        folder.clean()
    assert str(folder.raw[1]) in str(caught.value)
    assert not folder.out.exists() or not list(folder.out.iterdir())


@pytest.mark.parametrize(("damage", "sentence"), BROKEN)
def test_later_stages_refuse_broken_text_by_name_and_write_nothing(folder, damage, sentence) -> None:
    folder.clean()
    folder.learn_subwords()
    folder.raw = folder.words = (folder.path / "new.source", folder.path / "new.target")
    write_lines(folder.raw[0], ENGLISH)
    write_lines(folder.raw[1], GERMAN)
    damage(folder)
    before = {path: path.read_bytes() for path in folder.out.rglob("*") if path.is_file()}
    for stage in (folder.learn_subwords, folder.encode):
        with pytest.raises(UserError, match=sentence) as caught:
            stage()
        assert str(folder.words[1]) in str(caught.value)
    assert {path: path.read_bytes() for path in folder.out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"max_lenght": 3}, "max_lenght is not a known key"),
        ({"max_ratio": "3e0"}, "max_ratio must be a number"),
        ({"source_language": 3}, "source_language must be text"),
        ({"target_language": "xx"}, "no tokeniser for the language 'xx'"),
    ],
)
def test_clean_refuses_a_bad_config_in_words(folder, changes, sentence) -> None:
    with pytest.raises(UserError, match=sentence):
        folder.clean(**changes)
    assert not folder.out.exists()


def words_of_grammar(folder, pairs=300) -> None:
    corpus = demo_corpus(seed=3, train=pairs, valid=1, test=1, references=1)
    for path, name in zip(folder.raw, ("train.en", "train.de"), strict=True):
        write_lines(path, [*corpus[name], *corpus[name][:40], "", *corpus[name][20:60]])


@pytest.mark.parametrize("text", [{}, {"truecase": True}])
def test_the_number_of_processes_and_the_size_of_chunks_change_no_byte(folder, monkeypatch, text) -> None:
    words_of_grammar(folder)
    made = []
    for threads, size in ((1, 1000), (1, 7), (2, 50), (3, 33)):
        # The default of a parameter is set once, when the function is defined.
        monkeypatch.setattr(lines.read_pairs, "__defaults__", (size,))
        monkeypatch.setattr(learning, "PAIRS", size)
        folder.clean(threads=threads, text=text)
        folder.learn_subwords(threads=threads, text=text, vocabulary_threshold=5)
        folder.encode(threads=threads)
        made.append({path.name: path.read_bytes() for path in folder.out.rglob("*") if path.is_file()})
    assert json.loads(made[0]["counts.json"])["dropped"]["duplicate"] >= 80
    assert len(made[0]) == 13 and bool(made[0]["truecase.source"]) == bool(text)
    assert all(made[0] == other for other in made)


@pytest.mark.parametrize("joint", [True, False])
def test_codes_and_vocabularies_are_those_of_the_whole_text_split_line_by_line(folder, joint) -> None:
    words_of_grammar(folder)
    folder.clean()
    folder.learn_subwords(joint=joint, min_count=2, max_vocabulary=60)
    texts = [read_lines(path) for path in folder.words]
    for side, own in zip(("source", "target"), texts, strict=True):
        text = [*texts[0], *texts[1]] if joint else own
        expected = io.StringIO()
        learn_bpe(io.StringIO("".join(f"{line}\n" for line in text)), expected, 30)
        codes = folder.out / "subwords" / f"codes.{side}"
        assert codes.read_text() == expected.getvalue()
        slow = BPE(codes.open())
        assert folder.vocab(side) == Vocab.build(map(slow.process_line, text), 60, 2)


@pytest.mark.parametrize("joint", [True, False])
def test_a_vocabulary_threshold_splits_as_the_commands_of_subword_nmt_do(folder, joint) -> None:
    words_of_grammar(folder)
    folder.clean()
    folder.learn_subwords(joint=joint, merges=200, vocabulary_threshold=20)
    expected = []
    for side, path in zip(("source", "target"), folder.words, strict=True):
        codes = folder.out / "subwords" / f"codes.{side}"
        plain = BPE(codes.open())
        counts = Counter(piece for line in read_lines(path) for piece in plain.process_line(line).split())
        slow = BPE(codes.open(), vocab={piece for piece, count in counts.items() if count >= 20})
        expected.append([slow.process_line(line) for line in read_lines(path)])
        side_of = Side.load(folder.out / "subwords", side)
        assert [side_of.subwords(line) for line in read_lines(path)] == expected[-1]
        assert expected[-1] != [plain.process_line(line) for line in read_lines(path)]
    for side, lines_of_side in zip(("source", "target"), expected, strict=True):
        assert folder.vocab(side) == Vocab.build([*expected[0], *expected[1]] if joint else lines_of_side)


def test_a_worker_that_dies_leaves_nothing_behind(folder, monkeypatch) -> None:
    words_of_grammar(folder)
    monkeypatch.setattr(lines.read_pairs, "__defaults__", (20,))
    folder.clean()
    folder.learn_subwords()
    before = {path: path.read_bytes() for path in folder.out.rglob("*") if path.is_file()}
    monkeypatch.setattr(lines.Block, "lines", lambda block: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr(learning, "PAIRS", 20)
    for stage in (folder.clean, folder.learn_subwords, folder.encode):
        with pytest.raises(UserError, match="a worker process was killed"):
            stage(threads=2)
    assert {path: path.read_bytes() for path in folder.out.rglob("*") if path.is_file()} == before


def test_encode_names_what_is_missing_of_the_subwords(folder) -> None:
    folder.clean()
    with pytest.raises(UserError, match=r"text\.yaml: no such file; learn_subwords writes it"):
        folder.encode()


@pytest.mark.parametrize("stage", ["clean", "encode"])
def test_a_full_disk_is_told_with_the_file_and_leaves_nothing_behind(folder, tmp_path, stage) -> None:
    """A limit on the size of files stands for it, since anyone may set that."""
    lines = [f"word{number} and so on" for number in range(5_000)]
    sides = [tmp_path / "s", tmp_path / "t"]
    for side in sides:
        write_lines(side, lines)
    out = tmp_path / "full"
    texts = ["--source", sides[0], "--target", sides[1]]
    if stage == "clean":
        write_yaml(tmp_path / "clean.yaml", CLEAN)
        flags = ["--config", tmp_path / "clean.yaml", "--split", "test", *texts, "--out-source", out / "source",
                 "--out-target", out / "target", "--counts", out / "counts.json"]  # fmt: skip
    else:
        folder.clean()
        folder.learn_subwords()
        flags = ["--subwords", folder.out / "subwords", *texts, "--out", out / "ids"]
    done = subprocess.run(
        [sys.executable, "-m", "axenat.cli", stage, *map(str, flags), "--threads", "1"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert done.returncode == 2
    assert re.fullmatch(
        rf"axenat {stage}: {out}/\w+: File too large; make room and run the same command again\n", done.stderr
    )
    assert not out.exists() or not list(out.iterdir())
