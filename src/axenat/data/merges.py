"""Which pairs of symbols byte pair encoding merges, as subword-nmt's learn_bpe finds them, in seconds for large texts.

Its counts are not always true: it forgets what it had set aside of a pair that becomes more frequent later, and counts
the neighbours of a symbol again when another pair makes the same one. Codes must be the same, so these are too.
"""

from bisect import bisect
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from axenat.data.merge_kernels import (
    ACTIVE,
    NOBODY,
    NODES,
    PAIRS,
    SLACK,
    Int32,
    Int64,
    Pairs,
    Words,
    count_pairs,
    merge,
    most_frequent,
    rehash,
    set_aside,
    take_words,
)

END = "</w>"  # of a word
RAREST = 2  # a rarer pair is not merged
OF_PAIRS = ("lefts", "rights", "stats", "whole", "is_active", "active", "heads")
OF_NODES = ("node_words", "node_nexts")
SOME_WORDS = 5_000  # counted at once


class NoRoomError(Exception):
    """A word that subword-nmt's counts are more confused about than we have room for: let it learn by itself."""


def learn_merges(counts: Mapping[str, int], number: int) -> list[tuple[str, str]]:
    """The most frequent pair again and again, each time after the one before is merged everywhere."""
    learner = _Learner(counts)
    threshold = learner.stats.max() / 10
    merges: list[tuple[str, str]] = []
    for step in range(number):
        best = learner.best()
        if best == NOBODY or (step and learner.stats[best] < threshold):
            learner.bring_up_to_date(threshold)
            best = learner.best()
            threshold = int(learner.stats[best]) * step / (step + 10_000.0)
            set_aside(learner.pairs, learner.sizes, threshold)
        if learner.stats[best] < RAREST:
            break
        merges.append(learner.merge(best))
        if step % 100 == 0:
            set_aside(learner.pairs, learner.sizes, threshold)
    return merges


class _Learner:
    """Words as symbols, and their pairs."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.words, self.symbols = _words_of(counts)
        self.numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        self.alphabet = sorted(self.symbols)
        self.ranks: Int32 = np.array([bisect(self.alphabet, one) - 1 for one in self.symbols], dtype=np.int32)
        self.sizes = np.zeros(3, dtype=np.int64)
        self.pairs = _no_pairs()
        self.taken: Int32 = np.zeros(len(counts), dtype=np.int32)
        for first in range(0, len(counts), SOME_WORDS):
            end = min(first + SOME_WORDS, len(counts))
            positions = int(self.words.lengths[first:end].sum())
            self._make_room(pairs=positions, nodes=positions)
            if not count_pairs(self.words, self.pairs, self.sizes, first, end):
                raise NoRoomError
        self.pairs.whole[:] = self.pairs.stats

    @property
    def stats(self) -> Int64:
        return self.pairs.stats[: self.sizes[PAIRS]]

    def best(self) -> int:
        return int(most_frequent(self.pairs, self.sizes, self.ranks))

    def bring_up_to_date(self, threshold: float) -> None:
        """All pairs are active again."""
        set_aside(self.pairs, self.sizes, threshold)
        number = self.sizes[ACTIVE] = self.sizes[PAIRS]
        self.pairs.stats[:number] = self.pairs.whole[:number]
        self.pairs.active[:number] = np.arange(number)
        self.pairs.is_active[:number] = True

    def merge(self, pair: int) -> tuple[str, str]:
        left, right = self.symbols[self.pairs.lefts[pair]], self.symbols[self.pairs.rights[pair]]
        merged = self._number_of(left + right)
        number, symbols = take_words(self.words, self.pairs, pair, self.taken)
        self._make_room(pairs=2 * len(self.symbols), nodes=2 * symbols)  # all new pairs have the new symbol
        if not merge(self.words, self.pairs, self.sizes, self.taken[:number], pair, merged):
            raise NoRoomError
        return left, right

    def _number_of(self, symbol: str) -> int:
        """Of a symbol that may be new."""
        if symbol not in self.numbers:
            self.numbers[symbol] = len(self.symbols)
            self.symbols.append(symbol)
            rank = bisect(self.alphabet, symbol)
            self.alphabet.insert(rank, symbol)
            self.ranks = np.append(self.ranks + (self.ranks >= rank), np.int32(rank)).astype(np.int32)
        return self.numbers[symbol]

    def _make_room(self, pairs: int, nodes: int) -> None:
        """For at most so many more."""
        pairs, nodes = pairs + int(self.sizes[PAIRS]), nodes + int(self.sizes[NODES])
        old = self.pairs
        changes = {name: _longer(getattr(old, name), pairs) for name in OF_PAIRS if pairs > len(old.lefts)}
        changes |= {name: _longer(getattr(old, name), nodes) for name in OF_NODES if nodes > len(old.node_words)}
        if 2 * pairs > len(old.keys):
            places = 1 << (2 * pairs).bit_length()
            changes |= {"keys": np.full(places, NOBODY, dtype=np.int64), "ids": np.zeros(places, dtype=np.int32)}
            rehash(old.keys, old.ids, changes["keys"], changes["ids"])
        self.pairs = old._replace(**changes)


def _longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.zeros(length + length // 4, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _no_pairs() -> Pairs:
    types = {"stats": np.int64, "whole": np.int64, "keys": np.int64, "is_active": np.bool_}
    arrays: dict[str, npt.NDArray[Any]] = {
        name: np.zeros(1024, dtype=types.get(name, np.int32)) for name in Pairs._fields
    }
    arrays["keys"][:] = NOBODY
    return Pairs(**arrays)


def _words_of(counts: Mapping[str, int]) -> tuple[Words, list[str]]:
    """Words as numbers of symbols: letters, of which the last of a word is another one than elsewhere."""
    lengths = np.fromiter(map(len, counts), dtype=np.int32, count=len(counts))
    starts = np.concatenate([[0], lengths.cumsum(dtype=np.int64)])
    letters = np.frombuffer("".join(counts).encode("utf-32-le"), dtype=np.uint32) * 2
    letters[starts[1:] - 1] += 1
    different, symbols = np.unique(letters, return_inverse=True)
    room = len(letters) + SLACK * len(counts)
    words = Words(
        starts=starts, lengths=lengths, counts=np.fromiter(counts.values(), dtype=np.int64, count=len(counts)),
        symbols=symbols.astype(np.int32), entries=np.zeros(len(counts), dtype=np.int32),
        entry_pairs=np.zeros(room, dtype=np.int32), entry_counts=np.zeros(room, dtype=np.int32),
    )  # fmt: skip
    return words, [chr(letter // 2) + END * (letter % 2) for letter in different.tolist()]
