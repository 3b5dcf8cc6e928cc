"""A truecaser learns where nothing asks for a capital, changes no number of words, and an empty one changes nothing."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesTruecaser

from axenat.data.truecase import Truecaser, count_cases
from axenat.files import UserError

LINES = [
    "The old man sees the house . The woman sees Peter .",
    "He said : ( The end ) and the man went .",
    '" The end " of the NATO is the end of the nato .',
    "Peter and the man ! Is the house old ? The House is .",
]
WORDS = [
    "the",
    "The",
    "THE",
    "man",
    "Man",
    ".",
    ":",
    "?",
    "(",
    '"',
    "'",
    "&quot;",
    "<b>",
    "|",
    "a|b",
    "<",
    "3",
    "ß",
    "É",
]
lines = st.lists(st.sampled_from(WORDS)).map(" ".join)


def learn(text: list[str]) -> Truecaser:
    return Truecaser(count_cases(text))


def test_first_words_are_written_as_elsewhere_and_known_forms_stay() -> None:
    truecaser = learn(LINES)
    assert truecaser.apply("The man . Peter is old") == "the man . Peter is old"
    assert truecaser.apply('" The House is the House') == '" the House is the House'
    assert truecaser.apply("is the OLD unknown Zebra") == "is the old unknown Zebra"


def test_a_capital_is_put_where_a_sentence_starts() -> None:
    truecaser = learn(LINES)
    assert truecaser.undo('the man . " is he old ? ( no') == 'The man . " Is he old ? ( No'
    for line in LINES[::3]:
        assert truecaser.undo(truecaser.apply(line)) == line


@pytest.mark.parametrize(
    ("word", "written"), [("iPhone", "IPhone"), ("éclair", "Éclair"), ("ß", "ß"), ("ßa", "ßa"), ("ﬁn", "ﬁn")]
)
def test_every_first_letter_with_one_capital_letter_gets_it(word, written) -> None:
    assert learn(LINES).undo(f"{word} costs . {word} sells") == f"{written} costs . {written} sells"


def test_the_first_word_of_a_sentence_is_no_evidence() -> None:
    counts = count_cases(["The cat . The dog", '" The cow', "a : The end"])
    assert counts == Counter(["cat", "dog", "cow", "end"])


@given(st.lists(lines), st.integers(0, 5))
def test_counts_of_parts_add_up_to_those_of_the_whole(text, cut) -> None:
    assert count_cases(text[:cut]) + count_cases(text[cut:]) == count_cases(text)
    parts = count_cases(text[cut:]) + count_cases(text[:cut])
    assert Truecaser(parts).best == learn(text).best


def test_of_equally_common_forms_lower_case_is_best() -> None:
    for text in (["x the The THE"], ["x THE The the"]):
        assert learn(text).apply("The") == "the"


@given(st.lists(lines), lines)
def test_the_number_of_words_never_changes(text, line) -> None:
    truecaser = learn(text)
    assert len(truecaser.undo(line)) == len(line)
    assert len(truecaser.apply(line).split()) == len(line.split()) == len(truecaser.undo(line).split())


@given(lines)
def test_a_truecaser_that_learnt_nothing_changes_nothing(line) -> None:
    nothing = Truecaser()
    assert nothing.apply(line) == nothing.undo(line) == line


@given(text=st.lists(lines), line=lines)
def test_the_file_holds_all_and_sacremoses_reads_it_alike(tmp_path_factory, text, line) -> None:
    path = tmp_path_factory.mktemp("truecase") / "model"
    learnt = learn(text)
    learnt.save(path)
    assert Truecaser.load(path) == learnt
    line = " ".join(word for word in line.split() if not set(word) & set("<|"))  # sacremoses takes these apart
    assert learnt.apply(line).split() == MosesTruecaser(str(path)).truecase(line, use_known=True)


def test_an_empty_file_is_the_truecaser_that_changes_nothing(tmp_path) -> None:
    (tmp_path / "model").touch()
    assert Truecaser.load(tmp_path / "model") == Truecaser()
    Truecaser().save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == b""


@pytest.mark.parametrize("line", ["the", "the (3/3) The", "the (x/3)", "the 3", "", "the (3/3) The (1) (2)"])
def test_a_file_of_something_else_is_refused_with_its_line(tmp_path, line) -> None:
    (tmp_path / "model").write_text(f"a (1/1)\n{line}\n")
    with pytest.raises(UserError, match="line 2: expected words with counts"):
        Truecaser.load(tmp_path / "model")
