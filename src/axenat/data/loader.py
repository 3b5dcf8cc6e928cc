"""The batches of a plan in their order, made here or ahead of time by worker processes."""

import signal
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, Dataset

from axenat.data.batches import Batch, collate
from axenat.data.corpus import ParallelCorpus


def load_batches(
    corpus: ParallelCorpus, plan: Iterable[npt.NDArray[np.int64]], *, workers: int = 0, pin: bool = False
) -> Iterator[Batch]:
    """The plan is followed only as far as batches are taken (or made ahead), and workers end with this iterator.

    `pin` puts batches where a GPU can fetch them while it computes; without a GPU it has no effect.
    """
    pin = pin and torch.cuda.is_available()
    if workers == 0:
        for indices in plan:
            batch = collate(corpus, indices)
            yield batch.pin_memory() if pin else batch
        return
    loader: DataLoader[Batch] = DataLoader(
        _Collated(corpus), batch_size=None, sampler=plan, collate_fn=_unchanged, num_workers=workers, pin_memory=pin,
        worker_init_fn=_leave_signals_to_the_training,
        # The default would draw from torch's random numbers, which belong to the training.
        generator=torch.Generator(),
    )  # fmt: skip
    batches: Any = iter(loader)
    try:
        yield from batches
    finally:
        # Left to the garbage collector, an error's traceback would keep workers until one of them collects it.
        batches._shutdown_workers()


class _Collated(Dataset[Batch]):
    """A corpus as torch's loader sees it: asked for the numbers of a batch, it gives the batch."""

    def __init__(self, corpus: ParallelCorpus) -> None:
        self.corpus = corpus

    def __getitem__(self, indices: npt.NDArray[np.int64]) -> Batch:
        return collate(self.corpus, indices)


def _leave_signals_to_the_training(worker: int) -> None:
    """A scheduler asks all processes of a job to stop; without its workers the training could not finish its step."""
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _unchanged(batch: Any) -> Any:
    return batch
