"""What was taken apart is joined again, in sentences of every kind that the module names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer

from axenat.corpus_config import TextConfig
from axenat.data import joining
from axenat.data.joining import join_words
from axenat.data.text import detokenise, tokenise
from tests.support.counted import CountedList, Tally

LINES = {
    "en": [
        "“Is it you?” asked Anne. “It’s me,” I said.",
        "The sign reads 'Closed today'.",
        "Peter's 'Odd Notes' won, for in 2019 $60 was much.",
        "The students' rooms and the teachers' rooms are ready.",
        "The students’ rooms aren’t ready; let ’em wait.",
        "The plank is about 4' long.",
        "We met in the new cafe'.",
        "He called it ‘the worst of days’ and left.",
        "The train of 10:30 and the bus at 2:05pm won 3:1 and/or lost.",
        "Number #8 of the A&M team wrote to me@home.example.org, see https://example.org/a/b today.",
        "Send the file(s) with my_name to O’Brien or O'Neil.",
        "They paid 50 € each, about $60.",
        "It costs &amp; weighs; R&amp;B.",
    ],
    "de": [
        "„Komm“, sagte sie, „es ist spät.“",
        "„Komm, rief er, und noch einmal: „Komm!“",
        "Das Wort 漢字 steht hier.",
        "Sie sagte »nein« und ‚vielleicht‘, er “ja”.",
        "Hans' Buch liegt hier.",
        "Ich hab' es gesehen.",
        "Das war 'n Spaß, „Pack ’em“ ruft sie.",
        "Das ist L'Oréal bei McDonald’s; wie geht’s, wie geht's?",
        "Ein Schild mit „can't stop“-Aufdruck und ein Kunde(n).",
        "Um 11:27 Uhr stand es 2:1 für den/die Sieger_in.",
        "Die Arbeits-/Baustelle liegt dort.",
        "Das kostet 50 € (oder 60 $) im Monat.",
    ],
    "ro": [
        "„Vii?” „Nu vin.”",
        "Filmul „Titanic”-ul acela e lung, iar „Da” e scurt.",
        "Ești singur(ă) la ora 8:30?",
        "Am plătit 300 $ în avans și 20 € apoi.",
        "N-am văzut-o; într-un an, d-na Popa s-a dus la O'Hara.",
        "A zis «nu» și a plecat.",
    ],
}
SWITCHES = [TextConfig(), TextConfig(aggressive_hyphens=True), TextConfig(escape=True)]
SWITCHES += [TextConfig(aggressive_hyphens=True, escape=True)]
ALL_LINES = [(language, line) for language, lines in LINES.items() for line in lines]


@pytest.mark.parametrize(("language", "line"), ALL_LINES)
@pytest.mark.parametrize("text", SWITCHES, ids=["plain", "hyphens", "escape", "both"])
def test_detokenising_undoes_tokenising_with_every_switch_that_it_can_undo(language, line, text) -> None:
    assert detokenise(tokenise(line, language, text), language, text) == line


def test_switches_take_more_apart_before_it_is_joined() -> None:
    assert tokenise("A well-known [x] & y", "en", TextConfig(aggressive_hyphens=True)) == "A well @-@ known [ x ] & y"
    assert tokenise("A well-known [x] & y", "en", TextConfig(escape=True)) == "A well-known &#91; x &#93; &amp; y"


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_hyphens_that_a_model_misplaces_are_hyphens_still(language) -> None:
    assert join_words("@-@ a @-@ @-@ b @-@", language) == "-a--b-"


@given(st.lists(st.sampled_from(["a", "Haus", "été", "12", "3,5", ".", ",", "?", "...", ":", "%", "(", ")", "[", "]"])))
def test_words_and_plain_punctuation_are_joined_as_sacremoses_joins_them(words) -> None:
    words = re.sub(r"(\d) : (?=\d)", r"\1 ", " ".join(words))  # times of the day are not plain
    for language in ("en", "de", "ro"):
        assert join_words(words, language) == MosesDetokenizer(language).detokenize(words.split(), unescape=False)


@given(st.lists(st.sampled_from(["a", "is", "'s", "'", '"', "“", "’", "„", ",", ".", "€", "5", "-x", "中", "/", "("])))
def test_joining_changes_nothing_but_spaces(words) -> None:
    for language in ("en", "de", "ro", "fr"):
        assert join_words(" ".join(words), language).replace(" ", "") == "".join(words)


@pytest.mark.parametrize(("language", "words"), [("de", "x ' "), ("en", "x ' "), ("en", "xs ' ")])
def test_a_line_ten_times_as_long_does_not_take_a_hundred_times_as_long(monkeypatch, language, words) -> None:
    """Counted in words that are read, of which an apostrophe may look at those around it and no more."""
    tally, line_of = Tally(), joining._Line

    def counted(found: list[str], language: str) -> joining._Line:
        line = line_of(CountedList(found, tally), language)
        line.lone = CountedList(line.lone, tally)
        return line

    monkeypatch.setattr(joining, "_Line", counted)
    read = []
    for times in (100, 1_000):
        tally.read = 0
        join_words(words * times, language)
        read.append(tally.read)
    assert 2 * 1_000 <= read[1] <= 20 * read[0]


@pytest.mark.parametrize("language", ["fr", "cs", "fi", "it"])
def test_other_languages_are_joined_by_moses_alone(language) -> None:
    words = "“ a ” 2 : 30 # 8 l' ami"
    assert join_words(words, language) == MosesDetokenizer(language).detokenize(words.split(), unescape=False)
