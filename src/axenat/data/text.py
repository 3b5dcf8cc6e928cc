"""Plain text to tokenised words and back, and which pairs are fit to train on."""

import hashlib
import re

from axenat.corpus_config import CleanConfig, TextConfig
from axenat.data.chinese import HAN, segment, unspace
from axenat.data.joining import join_words
from axenat.data.moses import split_words
from axenat.data.punctuation import normalise_punctuation
from axenat.files import UserError
from axenat.languages import CHINESE, LANGUAGES

PLAIN = TextConfig()

# In the order in which a pair is asked; the first that holds is the one counted.
REASONS = ("empty", "too_short", "too_long", "ratio", "wrong_script", "duplicate")

# Control characters that are not white space, and the byte order mark.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]")

_COMMA_BELOW = str.maketrans("ŞşŢţ", "ȘșȚț")
_NO_DIACRITICS = str.maketrans("ȘșȚțŞşŢţĂăÂâÎî", "SsTtSsTtAaAaIi")

_HAN = re.compile(f"[{HAN}]")
_EAST_ASIAN = re.compile(  # Han, kana and hangul; their punctuation is met in every language
    f"[{HAN}\u1100-\u11ff\u3041-\u3096\u30a1-\u30fa\u3131-\u318e\u31f0-\u31ff\uac00-\ud7a3\uff66-\uff6f\uff71-\uff9d]"
)


def clean_line(line: str) -> str:
    """One space between words, none around the line, no control characters."""
    return " ".join(_CONTROLS.sub("", line).split())


def tokenise(line: str, language: str, text: TextConfig = PLAIN) -> str:
    """Words and punctuation, separated by one space: jieba's for Chinese, else those of the Moses rules.

    The line is taken as it is in the file: normalisation tells no-break spaces from others, `clean_line` does not.
    """
    if _known(language) == "zh":
        return segment(clean_line(line))
    if text.normalise_punctuation:
        line = normalise_punctuation(line, language)
    if language == "ro" and text.normalise_romanian:
        line = line.translate(_COMMA_BELOW)
    if language == "ro" and text.remove_diacritics:
        line = remove_romanian_diacritics(line)
    return split_words(clean_line(line), language, aggressive_hyphens=text.aggressive_hyphens, escape=text.escape)


def detokenise(words: str, language: str, text: TextConfig = PLAIN) -> str:
    """The line as a person writes it: undoes `tokenise` on ordinary sentences."""
    if _known(language) == "zh":
        return unspace(words)
    return join_words(words, language, unescape=text.escape)


def remove_romanian_diacritics(line: str) -> str:
    """With cedillas or commas below s and t, all the same."""
    return line.translate(_NO_DIACRITICS)


def _known(language: str) -> str:
    """Refuse what sacremoses would silently treat as English."""
    if language not in LANGUAGES:
        raise UserError(f"no tokeniser for the language {language!r}; there is one for {', '.join(LANGUAGES)}")
    return language


def pair_reason(
    source_words: str, target_words: str, rules: CleanConfig, source_language: str, target_language: str
) -> str | None:
    """Why this tokenised pair should not be trained on, looked at alone; None if it is fine."""
    short, long = sorted((len(source_words.split()), len(target_words.split())))
    if short == 0:
        return "empty"
    if short < rules.min_length:
        return "too_short"
    if long > rules.max_length:
        return "too_long"
    if long > short * rules.max_ratio:
        return "ratio"
    sides = ((source_words, source_language), (target_words, target_language))
    if rules.drop_wrong_script and any(_in_wrong_script(words, language) for words, language in sides):
        return "wrong_script"
    return None


def _in_wrong_script(words: str, language: str) -> bool:
    """A Chinese side without a Chinese character, or another side with one, or with a Japanese or Korean one."""
    return not _HAN.search(words) if language in CHINESE else bool(_EAST_ASIAN.search(words))


def pair_digest(source: str, target: str) -> int:
    """64 bits by which equal pairs are found, since millions of whole sentences would fill the memory."""
    return int.from_bytes(hashlib.blake2b(f"{source}\n{target}".encode(), digest_size=8).digest(), "big")
