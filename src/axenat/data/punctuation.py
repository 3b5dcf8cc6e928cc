"""Moses' normalisation of punctuation: one kind of quote, dash and space.

The rules are sacremoses's, but for two things in which Moses' own script does otherwise:

- Full stops and commas beside a closing quote: Moses moves them inside for English, leaves Czech alone and moves them
  outside for every other language. sacremoses does the last for German, Spanish and French only, and not at the end
  of a line, because the script meets a line feed there and sacremoses nothing.
- French quotes between no-break spaces keep a space outside, lest two words become one.

Differs from Moses: ‘ ‚ ’ become ' wherever they stand, as in sacremoses. The script makes a double quote of those that
do not stand between two letters (later versions of the last one only), and so of the apostrophe in "the Parties’ aim".
"""

import re
from functools import cache

from sacremoses import MosesPunctNormalizer

# A line with none of these is left as it is by every rule; most lines are.
_TRIGGER = re.compile("[\"()\r`„“”–—´‘’‚…«»\u00a0%:;]|''|  ")


def normalise_punctuation(line: str, language: str) -> str:
    """The line with plain quotes, dashes and spaces; full stops and quotes in the order of the language."""
    if not _TRIGGER.search(line):
        return line.strip()
    line = f"{line}\n"
    for pattern, replacement in _rules(language):
        line = pattern.sub(replacement, line)
    return line.strip()


@cache
def _rules(language: str) -> list[tuple[re.Pattern[str], str]]:
    moses = MosesPunctNormalizer(language, norm_quote_commas=False, perl_parity=True)
    rules = [(pattern, "'" if pattern == "’" else replacement) for pattern, replacement in moses.substitutions]
    if language == "en":
        rules += moses.EN_QUOTATION_FOLLOWED_BY_COMMA
    elif language != "cs":
        rules += moses.DE_ES_FR_QUOTATION_FOLLOWED_BY_COMMA
    # The script works on bytes: only digits and spaces of ASCII are such to it.
    return [(re.compile(pattern, re.ASCII), replacement) for pattern, replacement in rules]
