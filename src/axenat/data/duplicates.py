"""Which digests were seen before, in a table of plain numbers: millions of Python's own would fill the memory."""

import numpy as np
import numpy.typing as npt

Digests = npt.NDArray[np.uint64]

FULLEST = 0.75  # of the places of a table; beyond, finding one takes long
SMALLEST = 1 << 16  # places
EMPTY = np.uint64(0)


class Seen:
    """All digests that were ever added, each in the first free place from the one that its low bits name."""

    def __init__(self) -> None:
        self._table: Digests = np.zeros(SMALLEST, dtype=np.uint64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def add(self, digests: Digests) -> npt.NDArray[np.bool_]:
        """For each digest whether it is new; of equal ones, only the first is."""
        unique, first = np.unique(np.maximum(digests, np.uint64(1)), return_index=True)  # 0 is an empty place
        while self._size + len(unique) > FULLEST * len(self._table):
            self._grow()
        new = np.zeros(len(digests), dtype=np.bool_)
        new[first[_insert(self._table, unique)]] = True
        self._size += int(new.sum())
        return new

    def _grow(self) -> None:
        old, self._table = self._table, np.zeros(2 * len(self._table), dtype=np.uint64)
        for start in range(0, len(old), SMALLEST):
            some = old[start : start + SMALLEST]
            _insert(self._table, some[some != EMPTY])


def _insert(table: Digests, digests: Digests) -> npt.NDArray[np.bool_]:
    """Put different digests where they belong, all at once; for each, whether it was not there before."""
    last = np.uint64(len(table) - 1)  # the size is a power of two
    new = np.zeros(len(digests), dtype=np.bool_)
    pending = np.arange(len(digests))
    places = digests & last
    while len(pending):
        wanted = digests[pending]
        free = table[places] == EMPTY
        table[places[free]] = wanted[free]  # where several want one place, one of them gets it
        settled = table[places] == wanted
        new[pending[settled & free]] = True
        pending, places = pending[~settled], (places[~settled] + np.uint64(1)) & last
    return new
