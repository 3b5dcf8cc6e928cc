"""A random order of any number of things, worked out piece by piece: none of it is ever held as a whole."""

import numpy as np
import numpy.typing as npt

ROUNDS = 6  # even, so that the two halves of a number end at their own widths

Words = npt.NDArray[np.uint64]


def shuffle_keys(rng: np.random.Generator) -> Words:
    """What decides an order: one key for each round."""
    return rng.integers(0, 1 << 64, size=ROUNDS, dtype=np.uint64)


def shuffled(start: int, stop: int, size: int, keys: Words) -> npt.NDArray[np.int64]:
    """Which of 0 to size - 1 stand at the places from `start` up to `stop` of their random order.

    A Feistel network permutes all numbers of as many bits as `size` needs, fewer than twice too many.
    Those that it leads outside walk on along their cycle, which comes back inside (Black and Rogaway 2002).
    """
    bits = max(2, (size - 1).bit_length())
    values = np.arange(start, stop, dtype=np.uint64)
    outside = np.arange(len(values))
    while len(outside):
        values[outside] = _feistel(values[outside], bits, keys)
        outside = outside[values[outside] >= size]
    return values.astype(np.int64)


def _feistel(values: Words, bits: int, keys: Words) -> Words:
    widths = np.uint64(bits - bits // 2), np.uint64(bits // 2)
    left, right = values >> widths[1], values & _ones(widths[1])
    for number, key in enumerate(keys):
        left, right = right, left ^ (_scramble(right + key) & _ones(widths[number % 2]))
    return left << widths[1] | right


def _ones(width: np.uint64) -> np.uint64:
    return np.uint64((1 << int(width)) - 1)


def _scramble(words: Words) -> Words:
    """The last steps of SplitMix64: every bit of a word changes every other."""
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)
