"""Punctuation becomes plain as Moses' script makes it; expected lines were worked out by hand from its rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer

from axenat.data.punctuation import normalise_punctuation

SIGNS = "aB1 .,:;?!%()<'`\"„“”–—´‘’‚…«»\u00a0\r"


@pytest.mark.parametrize(
    ("language", "line", "plain"),
    [
        ("en", "He said “yes”.", 'He said "yes."'),
        ("en", "“Yes”, he said.", '"Yes," he said.'),
        ("de", "Er sagte: „Ja.“", 'Er sagte: "Ja".'),
        ("de", "„Ja.“ Das war alles.", '"Ja". Das war alles.'),
        ("de", "„Ja,“ sagte er.", '"Ja", sagte er.'),
        ("ro", "A zis: „Da.”", 'A zis: "Da".'),
        ("ro", "„Da,” a zis ea.", '"Da", a zis ea.'),
        ("pl", "„Tak.”", '"Tak".'),
        ("cs", "„Ano.“ „Ne“, řekl.", '"Ano." "Ne", řekl.'),
        ("de", 'so."<b>', 'so."<b>'),
    ],
)
def test_full_stops_and_commas_stand_where_the_language_has_them(language, line, plain) -> None:
    assert normalise_punctuation(line, language) == plain


@pytest.mark.parametrize(
    ("language", "number"), [("de", "10,000"), ("cs", "10,000"), ("fr", "10,000"), ("ro", "10.000"), ("en", "10.000")]
)
def test_a_no_break_space_within_a_number_becomes_the_sign_of_the_language(language, number) -> None:
    assert normalise_punctuation("10\u00a0000", language) == number
    assert normalise_punctuation("10 000", language) == "10 000"


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("un mot\u00a0«\u00a0oui\u00a0»\u00a0et non", 'un mot "oui" et non'),
        ("the Parties’ aim isn’t ‘this’", "the Parties' aim isn't 'this'"),
        ("a–b—c…", "a-b - c..."),
        ("so ( or so )well : 5 % ; 6\u00a0%", "so (or so) well: 5%; 6%"),
        ("a ``quoted''word", 'a " quoted " word'),
        ("  nothing to do  ", "nothing to do"),
    ],
)
def test_quotes_dashes_and_spaces_become_plain(line, plain) -> None:
    assert normalise_punctuation(line, "ro") == plain


@pytest.mark.parametrize("first", SIGNS)
def test_no_sign_that_a_rule_looks_for_is_overlooked(first) -> None:
    moses = MosesPunctNormalizer("en")
    for second in SIGNS.replace("«", ""):
        assert normalise_punctuation(f"a{first}{second}b", "en") == moses.normalize(f"a{first}{second}b")


@given(st.text(SIGNS))
def test_english_is_what_sacremoses_makes_of_it_but_for_french_quotes(line) -> None:
    line = line.replace("\u00a0«", "«").replace("»\u00a0", "»")
    assert normalise_punctuation(line, "en") == MosesPunctNormalizer("en").normalize(line)


@given(st.text(SIGNS), st.sampled_from(["de", "ro", "cs"]))
def test_other_languages_too_where_no_double_quote_is_involved(line, language) -> None:
    for sign in "\"„“”«»'`´‘’‚":  # two single quotes are a double one
        line = line.replace(sign, "")
    assert normalise_punctuation(line, language) == MosesPunctNormalizer(language).normalize(line)
