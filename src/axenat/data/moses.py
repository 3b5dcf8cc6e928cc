"""The words of the Moses tokeniser: sacremoses's own rules and result, several times as fast.

sacremoses tries every rule on every line and builds sets of all letters anew for each abbreviation. Here a rule is
tried only where the character it looks for occurs, and the sets are built once.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from sacremoses import MosesTokenizer

_DIGITS = frozenset("0123456789")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rules:
    moses: MosesTokenizer
    apostrophes: list[Any]  # pairs of a pattern and its replacement, as all rules of sacremoses
    lower: frozenset[str]
    letters: frozenset[str]
    prefixes: frozenset[str]  # a full stop after one of these is part of the word
    number_prefixes: frozenset[str]  # the same, before a number only


@cache
def _rules(language: str) -> _Rules:
    moses = MosesTokenizer(language)
    apostrophes = [moses.NON_SPECIFIC_APOSTROPHE]
    if language == "en":
        apostrophes = moses.ENGLISH_SPECIFIC_APOSTROPHE
    elif language in ("fr", "it"):
        apostrophes = moses.FR_IT_SPECIFIC_APOSTROPHE
    number_prefixes = frozenset(moses.NUMERIC_ONLY_PREFIXES)
    return _Rules(
        moses=moses,
        apostrophes=apostrophes,
        lower=frozenset(moses.IsLower),
        letters=frozenset(moses.IsAlpha),
        prefixes=frozenset(moses.NONBREAKING_PREFIXES) - number_prefixes,
        number_prefixes=number_prefixes,
    )


def split_words(line: str, language: str, *, aggressive_hyphens: bool = False, escape: bool = False) -> str:
    """Words and punctuation separated by one space; the line has single spaces and no control characters."""
    rules = _rules(language)
    moses = rules.moses
    line = _replaced(line, moses.PAD_NOT_ISALNUM)
    if aggressive_hyphens and "-" in line:
        line = _replaced(line, moses.AGGRESSIVE_HYPHEN_SPLIT)
    if ".." in line:
        line = moses.replace_multidots(line)
    if "," in line:
        line = _replaced(line, moses.COMMA_SEPARATE_1, moses.COMMA_SEPARATE_2, moses.COMMA_SEPARATE_3)
    if "'" in line:
        line = _replaced(line, *rules.apostrophes)
    words = line.split()
    if "." in line:
        _split_full_stops(words, rules)
    line = " ".join(words)
    if line.endswith(".'"):
        line = f"{line[:-2]} . '".strip().replace("  ", " ")
    if "DOTMULTI" in line:
        line = moses.restore_multidots(line)
    return str(moses.escape_xml(line)) if escape else line


def _replaced(line: str, *rules: Any) -> str:
    for pattern, replacement in rules:
        line = pattern.sub(replacement, line)
    return line


def _split_full_stops(words: list[str], rules: _Rules) -> None:
    """A full stop is a word of its own, but not after an abbreviation or before a word in lower case."""
    for place, word in enumerate(words):
        if len(word) < 2 or word[-1] != ".":
            continue
        before = word[:-1]
        following = words[place + 1] if place + 1 < len(words) else ""
        if not (
            ("." in before and not rules.letters.isdisjoint(before))
            or before in rules.prefixes
            or following[:1] in rules.lower
            or (before in rules.number_prefixes and following[:1] in _DIGITS)
        ):
            words[place] = f"{before} ."
