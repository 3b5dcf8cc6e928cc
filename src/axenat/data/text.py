"""Plain text to tokenised words and back, and which pairs are fit to train on."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from sacremoses import MosesDetokenizer, MosesTokenizer

from axenat.files import UserError
from axenat.languages import LANGUAGES

REASONS = ("empty", "too_short", "too_long", "ratio", "duplicate")

# Control characters that are not white space, and the byte order mark.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]")

# What the Moses rules take apart and, being made for English, do not join again in German.
_GERMAN_APOSTROPHE = re.compile(r"(?<=\w) ' (?=s\b)")  # geht's
_GERMAN_COMPOUND = re.compile(r'(?<=[“"]) (?=-\w)')  # „Langsam“-Schild
_GERMAN_CURRENCY = re.compile(r"(?<=\d [€$£])(?=[\w(])")  # 50 € (oder mehr)


def clean_line(line: str) -> str:
    """One space between words, none around the line, no control characters."""
    return " ".join(_CONTROLS.sub("", line).split())


def tokenise(line: str, language: str) -> str:
    """Words and punctuation, separated by one space (the Moses rules, nothing escaped)."""
    words: str = _tokeniser(language).tokenize(clean_line(line), return_str=True, escape=False)
    return words.strip()


def detokenise(words: str, language: str) -> str:
    """The line as a person writes it: undoes `tokenise` on ordinary sentences."""
    if language == "de":
        words = _GERMAN_APOSTROPHE.sub("'", words)
    line: str = _detokeniser(language).detokenize(words.split(), unescape=False)
    if language == "de":
        line = _GERMAN_CURRENCY.sub(" ", _GERMAN_COMPOUND.sub("", line))
    return line


@cache
def _tokeniser(language: str) -> MosesTokenizer:
    return MosesTokenizer(_known(language))


@cache
def _detokeniser(language: str) -> MosesDetokenizer:
    return MosesDetokenizer(_known(language))


def _known(language: str) -> str:
    """Refuse what sacremoses would silently treat as English."""
    if language not in LANGUAGES:
        raise UserError(f"no tokeniser for the language {language!r}; there is one for {', '.join(LANGUAGES)}")
    return language


def keep_pair(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    min_length: int,
    max_length: int,
    max_ratio: float,
) -> str | None:
    """Why this pair should not be trained on, or None if it is fine."""
    short, long = sorted((len(source_tokens), len(target_tokens)))
    if short == 0:
        return "empty"
    if short < min_length:
        return "too_short"
    if long > max_length:
        return "too_long"
    if long > short * max_ratio:
        return "ratio"
    return None


def judge_pairs(
    pairs: Iterable[tuple[str, str]],
    *,
    min_length: int,
    max_length: int,
    max_ratio: float,
    drop_duplicates: bool,
) -> Iterator[str | None]:
    """A verdict for each tokenised pair: None to keep it, or one of `REASONS`."""
    seen: set[bytes] = set()
    for source, target in pairs:
        reason = keep_pair(
            source.split(), target.split(), min_length=min_length, max_length=max_length, max_ratio=max_ratio
        )
        if drop_duplicates and reason is None:
            # A digest, since millions of whole sentences would fill the memory.
            digest = hashlib.blake2b(f"{source}\n{target}".encode(), digest_size=12).digest()
            reason = "duplicate" if digest in seen else None
            seen.add(digest)
        yield reason
