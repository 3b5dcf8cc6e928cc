"""Chinese text to words and back: segmented by jieba, joined without spaces.

Punctuation stays Chinese: ，。！？ are what readers expect, and test sets are written with them. Full-width letters and
digits become ASCII ones, and so do the percent sign and the point of a number, being other spellings of the same words.
The switches of the Moses rules do not apply.

A line comes back as it was, but for these spellings, for characters of no width, and for spaces where Chinese text has
none as a rule: between Chinese and Latin words, before punctuation and after Chinese punctuation, between “ ” and “ ”.
After ASCII punctuation within a line there is a space, as is commoner, and between "" and "".

jieba looks at each run of characters without punctuation by itself, in a time that grows with the square of its length:
a minute for one of 100,000. A run of more than 1,000 is given to it in pieces of 1,000; the longest of Tatoeba has 30,
so that no ordinary line is segmented differently.
"""

import re
import warnings
from functools import cache
from typing import Any

HAN = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_LETTER = (
    "0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u10ff\u1200-\u1fff"  # of any other script, or digit
)

_NO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064]")
_FULL_WIDTH = re.compile("[\uff05\uff0e\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_TO_ASCII = {code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_NUMBER_SIGNS = re.compile("(?<=[0-9])．(?=[0-9])|(?<=[0-9])％")

_LONGEST_RUN = 1000
_RUN = r"\u4e00-\u9fd5a-zA-Z0-9+#&._%\-"  # what jieba looks at together
_PIECE = re.compile(f"[{_RUN}]{{1,{_LONGEST_RUN}}}|[^{_RUN}]+")

# don't, Coca-Cola, AT&T, a@b.net; but the comma of "Tom,Mary" joins numbers only.
_LATIN_WORD = re.compile(rf"[{_LETTER}]+(?:(?:[.'’_@&-]|(?<=[0-9])[,:](?=[0-9]))[{_LETTER}]+)*")

_SPACE = re.compile(
    rf"""(?! (?<=[{_LETTER})])[ ](?=[{_LETTER}])  # New York
           | (?<=[{_LETTER}])[ ](?=[(&-])
           | (?<=[{_LETTER}][ ][&-])[ ](?=[{_LETTER}])
           | (?<=[,.;:!?])[ ](?=\w)
           | (?<=")[ ](?=")
         )[ ]""",
    re.VERBOSE,
)


def segment(line: str) -> str:
    """Chinese words, Latin words, numbers and punctuation, separated by one space."""
    line = _in_one_spelling(line)
    words: list[str] = [word for piece in _PIECE.findall(line) for word in _segmenter().cut(piece)]
    return " ".join(word for word in _with_latin_words_whole(words, line) if word != " ")


def unspace(line: str) -> str:
    """The line without the spaces between Chinese words; those between Latin words stay."""
    return _SPACE.sub("", line.strip())


def _in_one_spelling(line: str) -> str:
    line = _NO_WIDTH.sub("", line)
    if _FULL_WIDTH.search(line):
        line = line.translate(_TO_ASCII)
        line = _NUMBER_SIGNS.sub(lambda match: "." if match[0] == "．" else "%", line)
    return line


def _with_latin_words_whole(words: list[str], line: str) -> list[str]:
    """jieba takes apart what is not plain ASCII letters."""
    inside = {place for match in _LATIN_WORD.finditer(line) for place in range(match.start() + 1, match.end())}
    if not inside:
        return words
    whole: list[str] = []
    place = 0
    for word in words:
        if place in inside:
            whole[-1] += word
        else:
            whole.append(word)
        place += len(word)
    return whole


@cache
def _segmenter() -> Any:
    """jieba in its default mode, from its own dictionary.

    Not through its cache file, which every process would look for, trust and write in the folder for temporary files.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old Python's ways, in jieba and in what it imports
        from jieba import Tokenizer

    segmenter = Tokenizer()
    segmenter.FREQ, segmenter.total = segmenter.gen_pfdict(segmenter.get_dict_file())
    segmenter.initialized = True
    return segmenter
