"""Batches in the order of a plan."""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from axenat.data.batches import Batch, collate
from axenat.data.corpus import ParallelCorpus


def load_batches(
    corpus: ParallelCorpus, plan: Iterable[npt.NDArray[np.int64]], *, workers: int = 0, pin: bool = False
) -> Iterator[Batch]:
    for indices in plan:
        yield collate(corpus, indices)
