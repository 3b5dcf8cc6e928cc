"""The inner loops of learning byte pair encoding, compiled.

All arrays are as long as their maker thinks is enough; `Sizes` tells how much of them is in use.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Function = TypeVar("Function", bound=Callable[..., Any])
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PAIRS, NODES, ACTIVE = range(3)  # what sizes are of
SLACK = 2  # entries of a word beyond its pairs; more would need a word of many equal letters
NOBODY = -1


class Words(NamedTuple):
    """Each word as symbols, with its pairs: how often subword-nmt believes each to be in it, if not never."""

    starts: Int64  # (W,) of its symbols; its entries start SLACK later for each word before
    lengths: Int32  # (W,)
    counts: Int64  # (W,)
    symbols: Int32
    entries: Int32  # (W,) in use
    entry_pairs: Int32
    entry_counts: Int32


class Pairs(NamedTuple):
    """Pairs of symbols, each with its two counts, and the words that ever had it as a chain of nodes."""

    lefts: Int32
    rights: Int32
    stats: Int64  # the counts that the next merge is chosen by, of active pairs
    whole: Int64  # the counts of all, brought up to date from time to time
    is_active: Flags
    active: Int32  # ids, in no order
    heads: Int32
    node_words: Int32
    node_nexts: Int32
    keys: Int64  # open addressing from both symbols
    ids: Int32


def compiled(function: Function) -> Function:
    """For the first use of all, which takes seconds; later ones load what it made."""
    return cast(Function, numba.njit(cache=True)(function))


@compiled
def slot_of(keys: Int64, key: int) -> int:
    """Where the key is, or the empty place where it belongs; the number of places is a power of two."""
    last = len(keys) - 1
    place = (key * 0x2545F4914F6CDD1D) >> 20 & last
    while keys[place] not in (NOBODY, key):
        place = place + 1 & last
    return place


@compiled
def rehash(old_keys: Int64, old_ids: Int32, keys: Int64, ids: Int32) -> None:
    for place in range(len(old_keys)):
        if old_keys[place] != NOBODY:
            new = slot_of(keys, old_keys[place])
            keys[new], ids[new] = old_keys[place], old_ids[place]


@compiled
def _id_of(pairs: Pairs, sizes: Int64, left: int, right: int) -> int:
    place = slot_of(pairs.keys, left << 32 | right)
    if pairs.keys[place] == NOBODY:
        pairs.keys[place], pairs.ids[place] = left << 32 | right, sizes[PAIRS]
        pairs.lefts[sizes[PAIRS]], pairs.rights[sizes[PAIRS]] = left, right
        pairs.heads[sizes[PAIRS]] = NOBODY
        sizes[PAIRS] += 1
    return int(pairs.ids[place])


@compiled
def _add(words: Words, pairs: Pairs, sizes: Int64, word: int, left: int, right: int, sign: int) -> bool:
    """One more or one fewer of a pair in a word; False if the word has no room for another entry."""
    pair = _id_of(pairs, sizes, left, right)
    if not pairs.is_active[pair]:
        pairs.is_active[pair], pairs.active[sizes[ACTIVE]] = True, pair
        sizes[ACTIVE] += 1
    pairs.stats[pair] += sign * words.counts[word]
    first = words.starts[word] + SLACK * word
    for entry in range(first, first + words.entries[word]):
        if words.entry_pairs[entry] == pair:
            words.entry_counts[entry] += sign
            if words.entry_counts[entry] == 0:
                _remove(words, word, entry)
            return True
    entry = first + words.entries[word]
    if entry == words.starts[word + 1] + SLACK * (word + 1):
        return False
    words.entry_pairs[entry], words.entry_counts[entry] = pair, sign
    words.entries[word] += 1
    pairs.node_words[sizes[NODES]], pairs.node_nexts[sizes[NODES]] = word, pairs.heads[pair]
    pairs.heads[pair] = sizes[NODES]
    sizes[NODES] += 1
    return True


@compiled
def _remove(words: Words, word: int, entry: int) -> None:
    words.entries[word] -= 1
    last = words.starts[word] + SLACK * word + words.entries[word]
    words.entry_pairs[entry], words.entry_counts[entry] = words.entry_pairs[last], words.entry_counts[last]


@compiled
def count_pairs(words: Words, pairs: Pairs, sizes: Int64, first: int, end: int) -> bool:
    """Of the words from `first` to `end`, as they are at the beginning."""
    for word in range(first, end):
        start = words.starts[word]
        for i in range(start, start + words.lengths[word] - 1):
            if not _add(words, pairs, sizes, word, words.symbols[i], words.symbols[i + 1], 1):
                return False
    return True


@compiled
def take_words(words: Words, pairs: Pairs, pair: int, taken: Int32) -> tuple[int, int]:
    """The words that have the pair, which then has none; how many they are, and how many symbols they have."""
    number = symbols = 0
    node = pairs.heads[pair]
    while node != NOBODY:
        word = pairs.node_words[node]
        first = words.starts[word] + SLACK * word
        for entry in range(first, first + words.entries[word]):
            if words.entry_pairs[entry] == pair:
                if words.entry_counts[entry] > 0:
                    taken[number] = word
                    number, symbols = number + 1, symbols + words.lengths[word]
                _remove(words, word, entry)
                break
        node = pairs.node_nexts[node]
    pairs.heads[pair] = NOBODY
    return number, symbols


@compiled
def merge(words: Words, pairs: Pairs, sizes: Int64, taken: Int32, pair: int, merged: int) -> bool:
    """Both symbols of the pair become one in these words, and all counts follow as those of subword-nmt do."""
    left, right = pairs.lefts[pair], pairs.rights[pair]
    for word in taken:
        start, n = words.starts[word], words.lengths[word]
        old = words.symbols[start : start + n].copy()
        i = 0
        while i < n:  # what the pair had on either side
            if old[i] != left or i == n - 1 or old[i + 1] != right:
                i += 1
                continue
            if i > 0 and not _add(words, pairs, sizes, word, old[i - 1], left, -1):
                return False
            again = i < n - 3 and old[i + 2] == left and old[i + 3] == right  # which has it on its own left side
            if i < n - 2 and not again and not _add(words, pairs, sizes, word, right, old[i + 2], -1):
                return False
            i += 2
        n = _replace(words, word, old, left, right, merged)
        new = words.symbols[start : start + n]
        for i in range(n):  # and what the new symbol has, wherever it is: it may have been there before
            if new[i] != merged:
                continue
            if i > 0 and not _add(words, pairs, sizes, word, new[i - 1], merged, 1):
                return False
            if i < n - 1 and new[i + 1] != merged and not _add(words, pairs, sizes, word, merged, new[i + 1], 1):
                return False
    pairs.stats[pair] = 0
    return True


@compiled
def _replace(words: Words, word: int, old: Int32, left: int, right: int, merged: int) -> int:
    place, i = words.starts[word], 0
    while i < len(old):
        both = old[i] == left and i < len(old) - 1 and old[i + 1] == right
        words.symbols[place] = merged if both else old[i]
        place, i = place + 1, i + (2 if both else 1)
    words.lengths[word] = place - words.starts[word]
    return int(words.lengths[word])


@compiled
def most_frequent(pairs: Pairs, sizes: Int64, ranks: Int32) -> int:
    """Of the active pairs; of equally frequent ones that whose symbols come last in the alphabet."""
    best = NOBODY
    for place in range(sizes[ACTIVE]):
        pair = pairs.active[place]
        if best == NOBODY or pairs.stats[pair] > pairs.stats[best]:
            best = pair
        elif pairs.stats[pair] == pairs.stats[best]:
            left, best_left = ranks[pairs.lefts[pair]], ranks[pairs.lefts[best]]
            if left > best_left or (left == best_left and ranks[pairs.rights[pair]] > ranks[pairs.rights[best]]):
                best = pair
    return best


@compiled
def set_aside(pairs: Pairs, sizes: Int64, threshold: float) -> None:
    """Pairs below the threshold are no longer active; how their counts are kept is subword-nmt's way, to the letter."""
    kept = 0
    for place in range(sizes[ACTIVE]):
        pair = pairs.active[place]
        if pairs.stats[pair] >= threshold:
            pairs.active[kept] = pair
            kept += 1
            continue
        if pairs.stats[pair] < 0:
            pairs.whole[pair] += pairs.stats[pair]
        else:
            pairs.whole[pair] = pairs.stats[pair]
        pairs.is_active[pair], pairs.stats[pair] = False, 0
    sizes[ACTIVE] = kept
