"""Byte pair encoding as subword-nmt does it: `unfriendly` becomes `un@@ friend@@ ly`."""

import contextlib
import io
import sys
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from axenat.data.vocab import split_tokens
from axenat.files import UserError, read_lines

SEPARATOR = "@@"
HEADER = "#version: 0.2"
CACHED_WORDS = 1_000_000


def learn(lines: Iterable[str], merges: int) -> list[str]:
    """The lines of a codes file, learnt from tokenised text; chain both sides for a joint one."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(split_tokens(line))
    if merges == 0 or all(len(word) == 1 for word in counts):
        return [HEADER]  # learn_bpe fails where there is nothing to merge
    dictionary, codes = (f"{word} {count}" for word, count in counts.items()), io.StringIO()
    # Its progress bar is for a person; a log would fill with it.
    quiet = contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO())
    with quiet:
        learn_bpe(dictionary, codes, merges, is_dict=True)
    return codes.getvalue().removesuffix("\n").split("\n")


class Subwords:
    """Learnt codes, ready to split words; each word is worked out once and remembered."""

    def __init__(self, codes: Iterable[str]) -> None:
        codes = list(codes)
        if not codes or codes[0] != HEADER:
            raise UserError(f"subword codes must start with the line {HEADER!r}")
        for number, code in enumerate(codes[1:], start=2):
            if len(code.split(" ")) != 2:
                raise UserError(f"subword codes must hold two symbols a line, but line {number} is {code!r}")
        self._bpe = BPE(io.StringIO("\n".join(codes) + "\n"), merges=len(codes) - 1)
        self._split = lru_cache(CACHED_WORDS)(self._split_word)

    @classmethod
    def load(cls, path: str | Path) -> "Subwords":
        codes = read_lines(path)
        try:
            return cls(codes)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None

    def apply(self, words: str) -> str:
        """A tokenised line as subwords, exactly as `subword-nmt apply-bpe` writes it."""
        split = self._split
        return " ".join([split(word) for word in split_tokens(words)])

    def _split_word(self, word: str) -> str:
        pieces: str = self._bpe.segment(word)
        self._bpe.cache.clear()  # it never forgets; ours has a bound
        return pieces


def undo(subwords: str | Iterable[str]) -> str:
    """Subwords (a line or tokens) joined to words again; a loose end at the end of a line is a word."""
    tokens = split_tokens(subwords) if isinstance(subwords, str) else subwords
    line = "".join(token.removesuffix(SEPARATOR) if token.endswith(SEPARATOR) else f"{token} " for token in tokens)
    return line.removesuffix(" ")
