"""Subwords are those of subword-nmt, and can be undone."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from axenat.data.subwords import HEADER, Subwords, learn, undo
from axenat.files import UserError

LINES = [
    "der alte Mann kauft ein altes Auto .",
    "die alte Frau verkauft ein neues Auto .",
    "der neue Mann fährt mit dem alten Auto nach Hause .",
    "the old man buys an old car .",
    "the woman sells a new car @-@ wash .",
]
CODES = learn(LINES, 40)

# Tokenised text never holds a word that ends in the separator: Moses sets each @ apart.
words = st.text("abdelntuäß@-.", min_size=1, max_size=8).filter(lambda word: not word.endswith("@@"))
lines = st.lists(words, max_size=8).map(" ".join)


@given(lines)
def test_undo_undoes_apply(line) -> None:
    assert undo(Subwords(CODES).apply(line)) == line


@given(lines)
def test_apply_equals_subword_nmt(line) -> None:
    subwords, reference = Subwords(CODES), BPE(io.StringIO("\n".join(CODES) + "\n"))
    expected = reference.process_line(line)
    assert subwords.apply(line) == expected
    assert subwords.apply(line) == expected  # and from the cache


def test_learn_equals_subword_nmt_on_the_same_text() -> None:
    expected = io.StringIO()
    learn_bpe(io.StringIO("".join(f"{line}\n" for line in LINES)), expected, 40)
    assert "".join(f"{code}\n" for code in CODES) == expected.getvalue()


def test_more_merges_make_fewer_subwords() -> None:
    counts = [sum(len(Subwords(learn(LINES, n)).apply(line).split()) for line in LINES) for n in (0, 10, 40)]
    assert counts[0] > counts[1] > counts[2]


@pytest.mark.parametrize(("text", "merges"), [(LINES, 0), (["a b c", "d"], 10)])
def test_nothing_to_merge_leaves_single_characters(text, merges) -> None:
    codes = learn(text, merges)
    assert codes == [HEADER]
    assert Subwords(codes).apply("alt") == "a@@ l@@ t"


def test_undo_takes_tokens_and_forgives_a_loose_end() -> None:
    assert undo(["al@@", "te", "Frau@@"]) == "alte Frau"
    assert undo("") == ""


@pytest.mark.parametrize("text", ["", "a l\n", f"{HEADER}\na l t\n", f"{HEADER}\n\n"])
def test_a_file_that_holds_no_codes_is_refused_by_name(tmp_path, text) -> None:
    path = tmp_path / "codes"
    path.write_text(text)
    with pytest.raises(UserError, match="subword codes must") as caught:
        Subwords.load(path)
    assert str(caught.value).startswith(str(path))
