"""Byte pair encoding as subword-nmt does it: `unfriendly` becomes `un@@ friend@@ ly`."""

import contextlib
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from subword_nmt.apply_bpe import check_vocab_and_split

from axenat.data.vocab import split_tokens
from axenat.data.word_table import OddWordError, WordTable, is_odd
from axenat.files import UserError, read_lines

SEPARATOR = "@@"
END = "</w>"  # of a word, in codes
HEADER = "#version: 0.2"
MANY_WORDS = 3_000  # from which on compiled loops are worth loading
NEVER = sys.maxsize  # the rank of what is not merged
EDGES = "\r\n "  # what subword-nmt leaves as it is around a line


def count_words(lines: Iterable[str]) -> Counter[str]:
    """How often each word is in a block of tokenised lines, as subword-nmt counts."""
    counts = Counter(" ".join(lines).split(" "))
    for word in [word for word in counts if is_odd(word)]:
        number = counts.pop(word)
        for part in word.splitlines(keepends=True):
            counts[part.strip(EDGES)] += number
    del counts[""]
    return counts


def learn(counts: Mapping[str, int], merges: int) -> list[str]:
    """The lines of a codes file, learnt from counted words; add up those of both sides for a joint one."""
    if merges == 0 or all(len(word) == 1 for word in counts):
        return [HEADER]  # learn_bpe fails where there is nothing to merge
    # What is white space within a word, subword-nmt takes for the end of a symbol now and then.
    if len(counts) >= MANY_WORDS and not re.search(r"\s", "".join(counts)):
        from axenat.data.merges import NoRoomError, learn_merges  # takes a while to load

        with contextlib.suppress(NoRoomError):
            return [HEADER, *(f"{left} {right}" for left, right in learn_merges(counts, merges))]
    return _learn_slowly(counts, merges)


def _learn_slowly(counts: Mapping[str, int], merges: int) -> list[str]:
    """By subword-nmt itself."""
    from subword_nmt.learn_bpe import learn_bpe  # brings a progress bar, which those who only split can do without

    dictionary, codes = (f"{word} {count}" for word, count in counts.items()), io.StringIO()
    # Its progress bar is for a person; a log would fill with it.
    quiet = contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO())
    with quiet:
        learn_bpe(dictionary, codes, merges, is_dict=True)
    return codes.getvalue().removesuffix("\n").split("\n")


def count_pieces(counts: Mapping[str, int], subwords: "Subwords") -> Counter[str]:
    """How often each piece is there once these words are split, each of them once."""
    pieces: Counter[str] = Counter()
    for word, number in counts.items():
        for piece in subwords.split(word).split(" "):
            pieces[piece] += number
    return pieces


class _Ranks(dict[str, dict[str, int]]):
    """For a symbol and the one after it, when their merge was learnt; a pair as one key would take longer to find."""

    def __missing__(self, symbol: str) -> dict[str, int]:
        return _NO_RANKS


_NO_RANKS: dict[str, int] = {}


class Subwords:
    """Learnt codes, ready to split words; pieces that are not among `allowed`, if there are any, are split further."""

    def __init__(self, codes: Iterable[str], allowed: Iterable[str] = ()) -> None:
        merges = _parse(list(codes))
        self._ranks = _Ranks()
        for rank, (left, right) in enumerate(merges):
            self._ranks.setdefault(left, {}).setdefault(right, rank)
        # Where a piece can be made in several ways, the first one counts, as it does to subword-nmt.
        self._parts = {left + right: (left, right) for left, right in dict.fromkeys(reversed(merges))}
        self._allowed = frozenset(allowed)
        self._table = WordTable(self.split)

    @classmethod
    def load(cls, codes: str | Path, allowed: str | Path | None = None) -> "Subwords":
        """From the files that subword-nmt calls codes and, cut off at its threshold, vocabulary."""
        pieces = _read_allowed(allowed) if allowed else []
        lines = read_lines(codes)
        try:
            return cls(lines, pieces)
        except UserError as error:
            raise UserError(f"{codes}: {error}") from None

    def apply(self, words: str) -> str:
        """A tokenised line as subwords, exactly as `subword-nmt apply-bpe` writes it."""
        try:
            return " ".join(map(self._table.__getitem__, words.split(" ")))
        except OddWordError:
            return "".join(map(self._apply_odd, words.splitlines(keepends=True)))

    def _apply_odd(self, line: str) -> str:
        """White space around a line stays. To subword-nmt, other characters than the line feed end a line too."""
        words = line.strip(EDGES)
        if not words:
            return line
        before, after = line[: -len(line.lstrip(EDGES))], line[len(line.rstrip(EDGES)) :]
        return before + " ".join(map(self.split, split_tokens(words))) + after

    def split(self, word: str) -> str:
        """The pieces of one word; nothing is remembered."""
        if len(word) == 1:
            return word
        pieces = self._merge([*word[:-1], word[-1] + END])
        pieces[-1] = pieces[-1].removesuffix(END)
        if self._allowed:
            pieces = check_vocab_and_split(pieces, self._parts, self._allowed, SEPARATOR)
        return f"{SEPARATOR} ".join(pieces)

    def _merge(self, symbols: list[str]) -> list[str]:
        """Again and again the pair that was learnt first, everywhere from left to right."""
        after = self._ranks
        ranks = [after[left].get(right, NEVER) for left, right in pairwise(symbols)]
        best = min(ranks)
        while best != NEVER:
            place = ranks.index(best)
            symbols[place] += symbols.pop(place + 1)
            del ranks[place]
            if place:
                ranks[place - 1] = after[symbols[place - 1]].get(symbols[place], NEVER)
            if place < len(ranks):
                ranks[place] = after[symbols[place]].get(symbols[place + 1], NEVER)
            if best not in ranks:  # only then: a new pair may have been learnt before, and yet has to wait
                best = min(ranks) if ranks else NEVER
        return symbols


def _parse(codes: list[str]) -> list[tuple[str, str]]:
    if not codes or codes[0] != HEADER:
        raise UserError(f"subword codes must start with the line {HEADER!r}")
    merges = []
    for number, code in enumerate(codes[1:], start=2):
        left, _, right = code.partition(" ")
        if not left or not right or " " in right:
            raise UserError(f"subword codes must hold two symbols a line, but line {number} is {code!r}")
        merges.append((left, right))
    return merges


def _read_allowed(path: str | Path) -> list[str]:
    pieces = []
    for number, line in enumerate(read_lines(path), start=1):
        piece, _, count = line.partition(" ")
        if not piece or not count.isdecimal():
            raise UserError(f"{path}: must hold a piece and its count a line, but line {number} is {line!r}")
        pieces.append(piece)
    return pieces


def undo(subwords: str | Iterable[str]) -> str:
    """Subwords (a line or tokens) joined to words again; a loose end at the end of a line is a word."""
    tokens = split_tokens(subwords) if isinstance(subwords, str) else subwords
    line = "".join(token.removesuffix(SEPARATOR) if token.endswith(SEPARATOR) else f"{token} " for token in tokens)
    return line.removesuffix(" ")
