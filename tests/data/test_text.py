"""Tokenisation can be undone, and unfit pairs are named with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses.corpus import NonbreakingPrefixes

from axenat.data.text import REASONS, clean_line, detokenise, judge_pairs, keep_pair, tokenise
from axenat.files import UserError
from axenat.languages import LANGUAGES

ENGLISH = [
    "The old man buys a red car today.",
    "She doesn't know that it's Peter's well-known house, does she?",
    'He said: "We will be there at 10.30 a.m. (or later)!"',
    "It costs $3,500; the students' rooms are 20% cheaper...",
    "Mr. Smith, who lives in the U.S., won't come.",
]
GERMAN = [
    "Der alte Mann kauft heute ein rotes Auto.",
    "Morgens fährt die Frau, die z.B. in Köln wohnt, mit dem Zug zur Arbeit.",
    "Wie geht's dir? Mir geht's gut, sagt Karl's Schwester!",
    "Ein Mann mit einem „Langsam“-Schild lächelt in die Kamera.",
    "Das kostet 3.500,50 € (oder mehr); am 3. Mai wird's ca. 20% teurer.",
]
RULES = {"min_length": 1, "max_length": 5, "max_ratio": 2.0}


@pytest.mark.parametrize(("language", "line"), [("en", line) for line in ENGLISH] + [("de", line) for line in GERMAN])
def test_detokenising_undoes_tokenising(language, line) -> None:
    assert detokenise(tokenise(line, language), language) == line


def test_punctuation_becomes_words_and_nothing_is_escaped() -> None:
    assert tokenise("Wer ist da, Anna & Paul?", "de") == "Wer ist da , Anna & Paul ?"
    assert tokenise("It's Anna's.", "en") == "It 's Anna 's ."


@given(st.text(), st.sampled_from(["en", "de"]))
def test_tokenised_text_is_one_line_of_words_with_single_spaces(line, language) -> None:
    words = tokenise(line, language)
    assert words == " ".join(words.split())


@given(st.text())
def test_cleaning_twice_is_cleaning_once(line) -> None:
    assert clean_line(clean_line(line)) == clean_line(line)


def test_cleaning_removes_controls_and_odd_white_space() -> None:
    assert clean_line("\ufeff  ein\tHaus\u00a0am \x00\x07Meer\u2028\r") == "ein Haus am Meer"


def test_the_languages_that_a_study_may_name_are_those_of_the_tokeniser() -> None:
    assert list(LANGUAGES) == sorted(set(NonbreakingPrefixes().available_langs.values()))


def test_an_unknown_language_is_refused_instead_of_read_as_english() -> None:
    with pytest.raises(UserError, match=r"'xx'.*de, .*en"):
        tokenise("ein Haus", "xx")


@pytest.mark.parametrize(
    ("source", "target", "rules", "reason"),
    [
        ("a b", "c d", {}, None),
        ("", "c d", {}, "empty"),
        ("a b", "c", {"min_length": 2}, "too_short"),
        ("a b c d e f", "c d e f g", {}, "too_long"),
        ("a b", "c d e f", {}, None),
        ("a b", "c d e f g", {}, "ratio"),
    ],
)
def test_a_pair_is_kept_or_its_reason_is_named_from_either_side(source, target, rules, reason) -> None:
    rules = RULES | rules
    assert keep_pair(source.split(), target.split(), **rules) == reason
    assert keep_pair(target.split(), source.split(), **rules) == reason
    assert reason is None or reason in REASONS


def test_only_the_first_of_equal_pairs_is_kept_when_asked() -> None:
    pairs = [("a b", "c d"), ("a b", "c e"), ("a b", "c d"), ("", "c")]
    assert list(judge_pairs(pairs, **RULES, drop_duplicates=True)) == [None, None, "duplicate", "empty"]
    assert list(judge_pairs(pairs, **RULES, drop_duplicates=False)) == [None, None, None, "empty"]
