"""The words of the Moses tokeniser do not depend on how fast they are found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from axenat.data.moses import split_words
from axenat.data.text import clean_line
from axenat.languages import LANGUAGES

LINES = [
    "",
    "Mr. Smith, who lives in the U.S., won't pay $3,500 for No. 7... or will he?",
    "Z.B. am 3. Mai kostet's ca. 20% (oder 1.000,50 €) mehr; so heißt es. Wirklich...",
    "L-am văzut pe dl. Ion, nr. 5, str. Mare: „n-a zis nimic”, d-na. Popa & fiii.",
    "C'est l'ami d'Anne, n'est-ce pas? J'ai 3,5 km.",
    "<b>A|B</b> [x] & co-operation, well-known A-1 'quoted.'",
    "Wait.. what?.... No.5 and DOTMULTI, DOTDOTMULTI.",
    "a,b,,c 1,2,,3 ,5 6, ,",
]
PIECES = [
    "a",
    "Haus",
    "Mr",
    "U.S",
    "z.B",
    "No",
    "nr",
    "1",
    "23",
    ".",
    "..",
    ",",
    "'",
    '"',
    "-",
    "s",
    "t",
    " ",
    "€",
    "@",
]
PIECES += ["&", "|", "<", "[", "%", "ß", "É", "DOT", "MULTI", "中", "`", "#", "\u0301"]
# Of the languages with rules of their own, and one of another script.
OWN_RULES = ("en", "de", "fr", "it", "ro", "fi", "ta")
EXPECTED = {language: MosesTokenizer(language) for language in LANGUAGES}


def by_sacremoses(line: str, language: str, *, aggressive_hyphens: bool, escape: bool) -> str:
    words = EXPECTED[language].tokenize(line, aggressive_dash_splits=aggressive_hyphens, escape=escape)
    return " ".join(words)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("aggressive_hyphens", [False, True])
@pytest.mark.parametrize("escape", [False, True])
def test_sentences_are_split_as_sacremoses_splits_them(language, aggressive_hyphens, escape) -> None:
    how = {"aggressive_hyphens": aggressive_hyphens, "escape": escape}
    for line in LINES:
        assert split_words(line, language, **how) == by_sacremoses(line, language, **how)


@given(st.lists(st.sampled_from(PIECES)).map("".join), st.sampled_from(OWN_RULES), st.booleans(), st.booleans())
def test_any_line_is_split_as_sacremoses_splits_it(line, language, aggressive_hyphens, escape) -> None:
    how = {"aggressive_hyphens": aggressive_hyphens, "escape": escape}
    line = clean_line(line)
    assert split_words(line, language, **how) == by_sacremoses(line, language, **how)


def test_a_quote_after_the_last_full_stop_leaves_single_spaces() -> None:
    # sacremoses leaves two of them before this full stop.
    assert split_words("see [ .'", "en") == "see [ . '"
