"""One progress bar for the whole house: a bar on a terminal, silence elsewhere."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(iterable: Iterable[T], *, total: int | None = None, desc: str = "") -> Iterator[T]:
    if not sys.stderr.isatty():
        yield from iterable
        return
    from tqdm import tqdm  # only here, so that the command line stays light

    yield from tqdm(iterable, total=total, desc=desc, dynamic_ncols=True, leave=False)
