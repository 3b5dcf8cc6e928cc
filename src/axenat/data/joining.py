"""Tokenised words joined again to the line that a person writes.

Most languages are joined by the Moses rules as sacremoses has them. English, German and Romanian follow the same rules
and some more, for what Moses takes apart and does not join again:

- quotes that show their direction: “so”, „so“, »so«, „așa”, ‘so’; English 'so' after a word that ends in s
- apostrophes: It’s, geht's, O’Brien, Hans' Buch; endings in brackets: file(s), Kunde(n), singur(ă)
- 2:30, and/or, #8, A&M, snake_case, addresses; 50 € before a word; „Langsam“-Schild, „Titanic”-ul

What the words do not tell is joined in the commoner way, so that these do not come back as they were: a space before a
comma, a full stop or a closing bracket, or none after them; "50 %" and "100€"; "a / b", "9: 30", "# 8" and "B & C";
“ to close in English and „ to close anywhere; two words cut short in one German line, as in "Sag' nichts, ich hab' es";
signs without spaces, as in C++, x=y and rock-'n'-roll.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache

from sacremoses import MosesDetokenizer
from sacremoses.util import is_cjk

# What is one word in spite of the spaces that Moses put into it.
_ONE_WORD = r"""
    (?<![^ ])\d{1,3} (?:[ ]:[ ]\d{1,3}(?:[ap]m)?)+ (?![^ -])   # 2:30
    | (?<=[\w-])[ ][/_][ ](?=[\w-])                            # and/or
    | (?<![^ ])\#[ ](?=\d)                                     # #8
    | (?<=\b[A-Z])[ ]&[ ](?:amp[ ];[ ])?(?=[A-Z]\b)            # A&M
    | &[ ](?:amp|lt|gt|quot|apos)[ ];                          # an entity that was in the text
    | \bhttps?[ ]:[ ]/[ ]/[ ](?=\w)
    | (?<=\w)[ ]@[ ](?=[\w-]+\.\w)
    | (?<=\b[DLOdl])[ ]['’][ ](?=[A-ZÀ-Ý])                     # O’Brien
    | (?<=\w)[ ][APOSTROPHES][ ](?=(?:s|t|d|m|re|ll|ve)\b)     # It’s
    | (?<=[^\W\d_])[ ]\([ ](?:ENDINGS)[ ]\)                    # file(s)
"""
_LANGUAGES = {"en": ("’", "s|es"), "de": ("'’‘", "e|n|en|r|in|innen"), "ro": ("'’", "ă")}  # apostrophes, endings
_ONE_WORD_IN = {
    language: re.compile(_ONE_WORD.replace("APOSTROPHES", apostrophes).replace("ENDINGS", endings), re.VERBOSE)
    for language, (apostrophes, endings) in _LANGUAGES.items()
}
_SPLIT_HYPHEN = re.compile(" ?@-@ ?")
_ONE_WORD_SIGNS = re.compile(r"[:/_#&@'’‘(]")

_BEFORE = MosesDetokenizer.IS_CURRENCY_SYMBOL  # and opening brackets
_AFTER = MosesDetokenizer.IS_PUNCT
_CONTRACTION = MosesDetokenizer.IS_ENGLISH_CONTRACTION
_ASCII_QUOTES = re.compile("['\"`]+")
_FAMILY = {"„": '"', "“": '"', "”": '"', "»": "«", "‚": "‘", "’": "‘"}  # a quote of a family ends where another began
_QUOTES = frozenset('"„“”«»‚‘’')
# What is in neither opens and closes by turns.
_OPENING = {"en": frozenset("„“‚‘«"), "de": frozenset("„‚"), "ro": frozenset("„‚")}
_CLOSING = {"en": frozenset("”’»"), "de": frozenset("’"), "ro": frozenset("’")}
_CLIPPED = ("n", "ne", "nen", "ner", "nem", "em", "tis", "twas", "cause")  # words that begin with an apostrophe


@dataclass(slots=True)
class _Line:
    words: list[str]
    language: str
    quotes: set[str] = field(default_factory=set)  # families of those that are open
    lone: list[int] = field(init=False)  # places of ', found once and not at every one of them

    def __post_init__(self) -> None:
        self.lone = [place for place, word in enumerate(self.words) if word == "'"] if "'" in self.words else []

    def word(self, place: int) -> str:
        """The word at a place, or nothing beyond both ends."""
        return self.words[place] if 0 <= place < len(self.words) else ""


def join_words(words: str, language: str, *, unescape: bool = False) -> str:
    """The line as a person writes it."""
    if unescape and "&" in words:
        words = _moses(language).unescape_xml(words)
    if "@-@" in words:
        words = _SPLIT_HYPHEN.sub("-", words)
    if language not in _LANGUAGES:
        line: str = _moses(language).detokenize(words.split(), unescape=False)
        return line
    if _ONE_WORD_SIGNS.search(words):
        words = _ONE_WORD_IN[language].sub(lambda match: match[0].replace(" ", ""), words)
    return _joined(_Line(words.split(), language))


@cache
def _moses(language: str) -> MosesDetokenizer:
    return MosesDetokenizer(language)


def _joined(line: _Line) -> str:
    pieces: list[str] = []
    glued = True
    for place, word in enumerate(line.words):
        if word.isalpha() and word < "\u1100":  # most words, and the first sign of East Asian writing
            to_left, to_right = False, False
        else:
            to_left, to_right = _sides(line, place)
        pieces += (word,) if glued or to_left else (" ", word)
        glued = to_right
    return "".join(pieces)


def _sides(line: _Line, place: int) -> tuple[bool, bool]:
    """Whether a word stands close to the one before it and to the one after it; open quotes are kept up to date."""
    word, before = line.words[place], line.word(place - 1)
    if is_cjk(word[0]):
        return bool(before) and is_cjk(before[-1]), False
    if _BEFORE.search(word):
        following = line.word(place + 1)
        amount_before = before[-1:].isdigit() and word[0] not in "([{" and not following[:1].isdigit()
        return False, not amount_before
    if _AFTER.search(word):
        return True, False
    if line.language == "en" and before and _CONTRACTION.search(word):
        return True, False
    if word in _QUOTES or _ASCII_QUOTES.fullmatch(word):
        opens = _opens(line, place)
        return not opens, opens
    return word[0] == "-" and len(word) > 1 and before in _QUOTES, False


def _opens(line: _Line, place: int) -> bool:
    """Whether a quote opens, and not closes or is an apostrophe."""
    word = line.words[place]
    family = _FAMILY.get(word, word)
    if word == "’" and family not in line.quotes and line.word(place + 1) in _CLIPPED:
        return True
    if word in _CLOSING[line.language] or (family in line.quotes and word not in _OPENING[line.language]):
        line.quotes.discard(family)
        return False
    if word == "'" and place and _is_apostrophe(line, place):
        return False
    line.quotes.add(family)
    return True


def _is_apostrophe(line: _Line, place: int) -> bool:
    """Of a lone ' that no other one opened: English students' rooms and 4' long, German Hans' Buch and hab' ich."""
    before, following = line.word(place - 1), line.word(place + 1)
    up_to_here = bisect_right(line.lone, place)
    later = len(line.lone) - up_to_here
    if line.language == "de":
        return not later and following not in _CLIPPED
    if line.language != "en":
        return False
    if not later and (before[-1].isdigit() or not following[:1].isalnum()):
        return True
    # Where the next one can not be an apostrophe, it closes what this one opens.
    closed = later % 2 == 1 and line.words[line.lone[up_to_here] - 1][-1] != "s"
    return before[-1] == "s" and before[0] != "'" and not closed
