"""Tokenisation can be undone, and unfit pairs are named with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses.corpus import NonbreakingPrefixes

from axenat.corpus_config import CleanConfig, TextConfig
from axenat.data.text import REASONS, clean_line, detokenise, pair_digest, pair_reason, tokenise
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
ROMANIAN = "El a spus: „Mulţumesc, s-a făcut ţintă în Braşov.” Și-a plecat – încet."
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


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        ([], "El a spus : „ Mulţumesc , s-a făcut ţintă în Braşov . ” Și-a plecat – încet ."),
        (["normalise_romanian"], "El a spus : „ Mulțumesc , s-a făcut țintă în Brașov . ” Și-a plecat – încet ."),
        (["remove_diacritics"], "El a spus : „ Multumesc , s-a facut tinta in Brasov . ” Si-a plecat – incet ."),
        (["normalise_punctuation"], 'El a spus : " Mulţumesc , s-a făcut ţintă în Braşov " . Și-a plecat - încet .'),
        (
            ["normalise_punctuation", "normalise_romanian", "remove_diacritics", "aggressive_hyphens", "escape"],
            "El a spus : &quot; Multumesc , s @-@ a facut tinta in Brasov &quot; . Si @-@ a plecat - incet .",
        ),
    ],
)
def test_each_switch_changes_its_own_in_romanian(switches, words) -> None:
    assert tokenise(ROMANIAN, "ro", TextConfig(**dict.fromkeys(switches, True))) == words


def test_switches_for_romanian_leave_other_languages_alone() -> None:
    text = TextConfig(normalise_romanian=True, remove_diacritics=True)
    assert tokenise("Şi ţară, în Băile Âşa", "de", text) == tokenise("Şi ţară, în Băile Âşa", "de")


def test_punctuation_is_normalised_before_no_break_spaces_are_lost() -> None:
    assert tokenise("10\u00a0000 Mark", "de", TextConfig(normalise_punctuation=True)) == "10,000 Mark"


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
    clean = CleanConfig(**(RULES | rules))
    assert pair_reason(source, target, clean, "en", "de") == reason
    assert pair_reason(target, source, clean, "de", "en") == reason
    assert reason is None or reason in REASONS


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("a cat", "一 只 猫", None),
        ("a cat", "a cat", "wrong_script"),
        ("a 猫", "一 只 猫", "wrong_script"),
        ("a ねこ", "一 只 猫", "wrong_script"),
        ("a 고양이", "一 只 猫", "wrong_script"),
        ("a cat 。", "一 只 cat", None),
        ("one zero", "一 〇", None),
        ("rare", "\U00020bb7", None),
    ],
)
def test_chinese_must_have_chinese_characters_and_other_languages_none_when_asked(source, target, reason) -> None:
    asked, not_asked = (CleanConfig(drop_wrong_script=asked) for asked in (True, False))
    assert pair_reason(source, target, asked, "en", "zh") == reason
    assert pair_reason(target, source, asked, "zh", "en") == reason
    assert pair_reason(source, target, not_asked, "en", "zh") is None


def test_the_first_reason_in_order_is_the_one_given() -> None:
    pairs = [("", "a"), ("a", "b"), ("a b c d e f", "a b"), ("a b", "c d e f g"), ("a b", "a 猫"), ("a b", "c d")]
    clean = CleanConfig(min_length=2, max_length=5, max_ratio=2.0, drop_wrong_script=True)
    assert [pair_reason(*pair, clean, "en", "de") for pair in pairs] == [*REASONS[:5], None]


def test_a_digest_is_64_bits_and_knows_the_sides_of_a_pair_apart() -> None:
    digests = [
        pair_digest(*pair) for pair in [("a", "b"), ("b", "a"), ("a b", ""), ("", "a b"), ("a", "b c"), ("a b", "c")]
    ]
    assert len(set(digests)) == len(digests) and all(0 <= digest < 2**64 for digest in digests)
    assert max(digests) >= 2**60 and pair_digest("a", "b") == digests[0]
