"""Words that are read from a file are those that would be made of the plain text; what does not fit is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.data.held_out import read_reference_words, words_of, words_of_references, write_reference_words
from axenat.data.text import tokenise
from axenat.files import UserError, write_lines
from axenat.languages import LANGUAGES

lines = st.text("aB1 .,'-&\t\u00a0\u2028\x85\x1cäß汽车。", max_size=12)
sentences = st.lists(st.lists(lines, min_size=3, max_size=3), min_size=1, max_size=5)


def never(line: str) -> str:
    raise AssertionError(f"{line!r} is tokenised although its words are there")


@given(sentences, st.sampled_from(LANGUAGES))
def test_references_come_back_as_the_words_that_a_tokeniser_made(tmp_path_factory, rows, language) -> None:
    """Whatever white space the plain text has: no word holds the sign between two references."""
    path = tmp_path_factory.mktemp("words") / "test.references"
    references = [[tokenise(line, language) for line in column] for column in zip(*rows, strict=True)]
    write_reference_words(path, references)
    assert read_reference_words(path, 3) == references
    plain = [list(column) for column in zip(*rows, strict=True)]
    assert words_of_references(plain, ["a", "b", "c"], path, never) == references


@given(st.lists(lines, min_size=1, max_size=5), st.sampled_from(LANGUAGES))
def test_words_in_a_file_are_those_that_are_made_here(tmp_path_factory, plain, language) -> None:
    path = tmp_path_factory.mktemp("words") / "test.target"
    words = [tokenise(line, language) for line in plain]
    write_lines(path, words)
    assert words_of(plain, "test.de", path, never) == words_of(plain, "test.de", None, lambda x: tokenise(x, language))
    assert words_of_references([plain], ["test.de"], path, never) == [words], "one reference is a file of plain lines"
    assert words_of_references([plain], ["x"], None, lambda line: tokenise(line, language)) == [words]


@pytest.fixture
def words(tmp_path) -> Path:
    write_reference_words(tmp_path / "words", [["ein Haus", "das Meer"], ["ein Heim", ""]])
    return tmp_path / "words"


def test_words_of_other_text_are_refused_in_one_sentence(words) -> None:
    for plain in (["a"], ["a", "b", "c"]):
        with pytest.raises(UserError, match=f"^test.de has {len(plain)} lines but {words} has 2"):
            words_of(plain, "test.de", words, never)
        with pytest.raises(UserError, match=f"^x has {len(plain)} lines but {words} has 2"):
            words_of_references([plain, plain], ["x", "y"], words, never)
    with pytest.raises(UserError, match=f"^y has 1 lines but {words} has 2"):
        words_of_references([["a", "b"], ["a"]], ["x", "y"], words, never)


@pytest.mark.parametrize("number", [1, 3])
def test_words_of_another_number_of_references_are_refused_with_the_line(words, number) -> None:
    with pytest.raises(UserError, match=f"^{words}, line 1: holds 2 references, expected {number}$"):
        read_reference_words(words, number)


def test_references_of_different_length_are_no_references_of_the_same_sentences(tmp_path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        write_reference_words(tmp_path / "words", [["a", "b"], ["a"]])
