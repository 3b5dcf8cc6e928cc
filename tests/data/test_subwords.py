"""Subwords are those of subword-nmt, odd lines included, and can be undone."""

import io
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from axenat.data import word_table
from axenat.data.subwords import HEADER, Subwords, count_pieces, count_words, learn, undo
from axenat.files import UserError, write_lines

LINES = [
    "der alte Mann kauft ein altes Auto .",
    "die alte Frau verkauft ein neues Auto .",
    "der neue Mann fährt mit dem alten Auto nach Hause .",
    "the old man buys an old car .",
    "the woman sells a new car @-@ wash .",
]
CODES = learn(count_words(LINES), 40)
SUBWORD_NMT = [sys.executable, "-c", "from subword_nmt.subword_nmt import main; main()"]

# Tokenised text never holds a word that ends in the separator: Moses sets each @ apart.
words = st.text("abdelntuäß@-.", min_size=1, max_size=8).filter(lambda word: not word.endswith("@@"))
lines = st.lists(words, max_size=8).map(" ".join)
# White space of all kinds, each of which ends a line somewhere, and what codes use as marks.
odd_lines = st.text("adelt  \t\r\u2028\u2029\x85\x0b\x0c\x1c\u00a0@</w>", max_size=20)


def subword_nmt(folder, text: list[str], *flags) -> list[str]:
    """What the command writes to a file, for each line that a line feed ends."""
    write_lines(folder / "codes", CODES)
    (folder / "in").write_bytes("".join(f"{line}\n" for line in text).encode())
    command = [*SUBWORD_NMT, "apply-bpe", "-c", folder / "codes", "-i", folder / "in", "-o", folder / "out", *flags]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return (folder / "out").read_bytes().decode().removesuffix("\n").split("\n")


@given(lines)
def test_undo_undoes_apply(line) -> None:
    assert undo(Subwords(CODES).apply(line)) == line


@given(lines)
def test_apply_equals_subword_nmt(line) -> None:
    subwords, reference = Subwords(CODES), BPE(io.StringIO("\n".join(CODES) + "\n"))
    expected = reference.process_line(line)
    assert subwords.apply(line) == expected
    assert subwords.apply(line) == expected  # and from the table


@settings(max_examples=12)
@given(st.lists(st.one_of(odd_lines, lines), min_size=1, max_size=60))
def test_apply_equals_the_command_of_subword_nmt_for_odd_lines_too(tmp_path_factory, text) -> None:
    text = [*text, "", "   ", " a ", "al  te", "\talte\t", "al\u2028te", "\u2028", "alte" * 2_000]
    subwords = Subwords(CODES)
    assert [subwords.apply(line) for line in text] == subword_nmt(tmp_path_factory.mktemp("bpe"), text)


@given(st.integers(0, 12), st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=20))
def test_overlapping_and_competing_merges_are_those_of_subword_nmt(merges, text) -> None:
    codes = learn(count_words(text), merges)
    reference = BPE(io.StringIO("\n".join(codes) + "\n"), merges=len(codes) - 1)
    for word in (*text, "aaaaa", "abababab", "cabcabca", "bbbbbbb"):
        assert Subwords(codes).split(word) == reference.segment(word)


@given(st.permutations([("a", "b"), ("ab", "c"), ("b", "c"), ("a", "bc"), ("abc", "a"), ("c", "a"), ("c</w>", "a")]))
def test_codes_in_any_order_mean_what_they_mean_to_subword_nmt(merges) -> None:
    codes = [HEADER, *(" ".join(merge) for merge in (*merges, merges[0]))]  # one of them twice
    reference = BPE(io.StringIO("\n".join(codes) + "\n"))
    frequent = {"a@@", "ab@@", "bc@@", "c@@", "c", "bc"}
    strict = BPE(io.StringIO("\n".join(codes) + "\n"), vocab=frequent)
    for word in ("abcabcabc", "aabbcc", "abcab", "cabca", "abc"):
        assert Subwords(codes).split(word) == reference.segment(word)
        assert Subwords(codes, frequent).split(word) == strict.segment(word)


@settings(max_examples=8)
@given(st.integers(1, 6), st.lists(lines, min_size=1, max_size=30))
def test_rare_pieces_are_split_as_the_vocabulary_of_subword_nmt_splits_them(tmp_path_factory, threshold, text) -> None:
    folder = tmp_path_factory.mktemp("bpe")
    split = subword_nmt(folder, LINES)
    vocabulary = Counter(piece for line in split for piece in line.split())
    write_lines(folder / "vocabulary", (f"{piece} {count}" for piece, count in vocabulary.items()))
    text = [*LINES, *text]
    flags = ["--vocabulary", folder / "vocabulary", "--vocabulary-threshold", threshold]
    expected = subword_nmt(folder, text, *flags)
    frequent = {piece: count for piece, count in vocabulary.items() if count >= threshold}
    write_lines(folder / "pieces", (f"{piece} {count}" for piece, count in frequent.items()))
    subwords = Subwords.load(folder / "codes", folder / "pieces")
    assert [subwords.apply(line) for line in text] == expected
    assert threshold == 1 or expected[: len(LINES)] != split


def test_the_table_of_words_is_bounded_and_forgets_nothing_that_matters(monkeypatch) -> None:
    expected = list(map(Subwords(CODES).apply, LINES))
    monkeypatch.setattr(word_table, "MOST_WORDS", 3)
    subwords = Subwords(CODES)
    for _ in range(3):
        assert list(map(subwords.apply, LINES)) == expected
        assert len(subwords._table) <= 3


def test_learn_equals_subword_nmt_on_the_same_text() -> None:
    expected = io.StringIO()
    learn_bpe(io.StringIO("".join(f"{line}\n" for line in LINES)), expected, 40)
    assert "".join(f"{code}\n" for code in CODES) == expected.getvalue()


@settings(max_examples=8)
@given(st.lists(st.one_of(odd_lines, lines), min_size=1, max_size=60))
def test_words_are_counted_as_subword_nmt_counts_them(tmp_path_factory, text) -> None:
    folder = tmp_path_factory.mktemp("bpe")
    (folder / "in").write_bytes("".join(f"{line}\n" for line in text).encode())
    command = [*SUBWORD_NMT, "get-vocab", "-i", folder / "in", "-o", folder / "out"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    rows = [row.split(" ") for row in (folder / "out").read_bytes().decode().split("\n")[:-1]]
    assert count_words(text) == {word: int(count) for word, count in rows}


def test_pieces_are_counted_as_in_the_whole_text() -> None:
    text = LINES * 3 + LINES[:2]
    subwords = Subwords(CODES)
    expected = Counter(piece for line in text for piece in subwords.apply(line).split())
    assert count_pieces(count_words(text), subwords) == expected


def test_more_merges_make_fewer_subwords() -> None:
    codes = [learn(count_words(LINES), number) for number in (0, 10, 40)]
    counts = [sum(len(Subwords(code).apply(line).split()) for line in LINES) for code in codes]
    assert counts[0] > counts[1] > counts[2]


@pytest.mark.parametrize(("text", "merges"), [(LINES, 0), (["a b c", "d"], 10), ([""], 10)])
def test_nothing_to_merge_leaves_single_characters(text, merges) -> None:
    codes = learn(count_words(text), merges)
    assert codes == [HEADER]
    assert Subwords(codes).apply("alt") == "a@@ l@@ t"


def test_undo_takes_tokens_and_forgives_a_loose_end() -> None:
    assert undo(["al@@", "te", "Frau@@"]) == "alte Frau"
    assert undo("") == ""


@pytest.mark.parametrize("text", ["", "a l\n", *(f"{HEADER}\n{line}\n" for line in ("a l t", "", "a ", " a"))])
def test_a_file_that_holds_no_codes_is_refused_by_name(tmp_path, text) -> None:
    path = tmp_path / "codes"
    path.write_text(text)
    with pytest.raises(UserError, match="subword codes must") as caught:
        Subwords.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("line", ["alte", "alte x", "", " 3"])
def test_a_file_that_holds_no_counted_pieces_is_refused_by_name(tmp_path, line) -> None:
    write_lines(tmp_path / "codes", CODES)
    write_lines(tmp_path / "pieces", ["alte 3", line])
    with pytest.raises(UserError, match=r"pieces: must hold a piece and its count a line, but line 2"):
        Subwords.load(tmp_path / "codes", tmp_path / "pieces")
