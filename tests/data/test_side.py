"""A side treats text as its corpus was treated, from lines to ids and back."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.corpus_config import SubwordsConfig, TextConfig
from axenat.data.learning import learn_sides, save_all
from axenat.data.side import Side
from axenat.data.subwords import Subwords, count_words, undo
from axenat.data.text import detokenise, tokenise
from axenat.data.text_section import TextSection, read_text_section, write_text_section
from axenat.data.truecase import Truecaser, count_cases
from axenat.data.vocab import EOS, UNK, Vocab
from axenat.files import UserError, write_lines, write_text

ENGLISH = ["The old man buys a red car .", "In the morning the old woman reads .", "A car , the car !"]
GERMAN = ["Der alte Mann kauft ein rotes Auto .", "Am Morgen liest die alte Frau .", "Ein Auto , das Auto !"]
LEARNT = learn_sides((count_words(ENGLISH), count_words(GERMAN)), SubwordsConfig(merges=25, joint=False))


def write_side_files(folder, text: TextConfig):
    truecasers = Truecaser.from_counts(count_cases(ENGLISH)), Truecaser.from_counts(count_cases(GERMAN))
    section = TextSection(source_language="en", target_language="de", text=text)
    save_all(folder, section, LEARNT, truecasers if text.truecase else None)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_side_files(tmp_path_factory.mktemp("subwords"), TextConfig())


words = st.lists(st.text("Taeronmd.<mask>@ \u2028", min_size=1, max_size=7), max_size=8).map(" ".join)


@given(words)
def test_ids_are_those_of_the_subwords_whatever_the_line(folder, line) -> None:
    for name, learnt in zip(("source", "target"), LEARNT, strict=True):
        side = Side.load(folder, name)
        expected = learnt.vocab.encode(Subwords(learnt.codes).apply(line))
        assert side.encode(line) == expected == learnt.vocab.encode(side.subwords(line))


@given(st.lists(words, min_size=1, max_size=6))
def test_many_lines_are_encoded_as_each_alone_with_an_eos(folder, lines) -> None:
    side = Side.load(folder, "source")
    ids, lengths = side.encode_lines(lines)
    parts = np.split(np.frombuffer(ids, side.id_type), lengths.cumsum()[:-1])
    assert [part.tolist() for part in parts] == [[*side.encode(line), EOS] for line in lines]


def test_a_vocabulary_that_needs_four_bytes_an_id_gets_them(folder) -> None:
    vocab = Vocab.build([" ".join(f"w{number}" for number in range(70_000))])
    side = Side("en", TextConfig(), Truecaser.from_counts(Counter()), Subwords(LEARNT[0].codes), vocab)
    side._subwords.split = lambda word: word
    assert side.encode("w1 w69999 x") == vocab.encode("w1 w69999 x") and max(side.encode("w9998")) > 65_535


@pytest.mark.parametrize(("name", "language", "lines"), [("source", "en", ENGLISH), ("target", "de", GERMAN)])
def test_lines_become_words_in_the_language_of_the_side_and_lines_again(folder, name, language, lines) -> None:
    side = Side.load(folder, name)
    for line in lines:
        plain = side.plain(line)
        assert plain == detokenise(line, language)
        assert side.tokenise(plain) == tokenise(plain, language) == line
        assert side.words(side.subwords(line)) == line == undo(side.subwords(line))
        assert UNK not in side.encode(line)


def test_words_are_truecased_before_they_are_split_and_cased_again_when_they_are_joined(tmp_path) -> None:
    side = Side.load(write_side_files(tmp_path, TextConfig(truecase=True)), "source")
    assert undo(side.subwords("The car .")) == "the car ."
    assert side.encode("The car .") == side.encode("the car .")
    assert side.words(side.subwords("The car .")) == "The car ."


def test_how_text_is_treated_makes_a_round_trip(tmp_path) -> None:
    section = TextSection(source_language="zh", target_language="ro", text=TextConfig(escape=True, truecase=True))
    write_text_section(tmp_path, section)
    assert read_text_section(tmp_path) == section


@pytest.mark.parametrize("name", ["codes", "vocab", "pieces", "truecase"])
def test_a_missing_file_is_refused_by_name(tmp_path, name) -> None:
    write_side_files(tmp_path, TextConfig())
    (tmp_path / f"{name}.target").unlink()
    with pytest.raises(UserError, match=rf"{name}\.target: no such file"):
        Side.load(tmp_path, "target")


def test_a_folder_that_does_not_say_how_its_text_was_treated_is_refused(tmp_path) -> None:
    write_side_files(tmp_path, TextConfig())
    write_text(tmp_path / "text.yaml", "source_language: en\ntarget_language: de\nescapes: true\n")
    with pytest.raises(UserError, match=r"text\.yaml.*escapes is not a known key"):
        Side.load(tmp_path, "source")
    (tmp_path / "text.yaml").unlink()
    with pytest.raises(UserError, match=r"text\.yaml: no such file; learn_subwords writes it"):
        Side.load(tmp_path, "source")


def test_allowed_pieces_are_read_from_their_file(folder, tmp_path) -> None:
    write_side_files(tmp_path, TextConfig())
    pieces = Counter(" ".join(map(Side.load(folder, "source").subwords, ENGLISH)).split())
    write_lines(tmp_path / "pieces.source", (f"{piece} {count}" for piece, count in pieces.items() if count > 1))
    allowed = [piece for piece, count in pieces.items() if count > 1]
    side, slow = Side.load(tmp_path, "source"), Subwords(LEARNT[0].codes, allowed)
    for line in ENGLISH:
        assert side.subwords(line) == slow.apply(line)
        assert side.encode(line) == LEARNT[0].vocab.encode(slow.apply(line))
