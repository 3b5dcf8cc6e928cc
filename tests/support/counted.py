"""Sequences that count how many of their elements were read: how work grows is seen without a clock."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt


class Tally:
    """Elements read so far."""

    def __init__(self) -> None:
        self.read = 0


class CountedList(list[Any]):
    """Reading one element counts 1, and whatever goes through many of them counts all of these."""

    def __init__(self, items: list[Any], tally: Tally) -> None:
        super().__init__(items)
        self.tally = tally

    def __getitem__(self, where: Any) -> Any:
        found = super().__getitem__(where)
        self.tally.read += len(found) if isinstance(where, slice) else 1
        return found

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            self.tally.read += 1
            yield item

    def __contains__(self, item: object) -> bool:
        self.tally.read += len(self)
        return super().__contains__(item)

    def index(self, *arguments: Any) -> int:
        self.tally.read += len(self)
        return super().index(*arguments)

    def count(self, item: object) -> int:
        self.tally.read += len(self)
        return super().count(item)


class CountedArray(np.ndarray[Any, Any]):
    """What is cut out of it is counted, and so is what is cut out of that."""

    tally: Tally | None = None

    def __array_finalize__(self, source: Any) -> None:
        self.tally = getattr(source, "tally", None)

    def __getitem__(self, where: Any) -> Any:
        found = super().__getitem__(where)
        if self.tally:
            self.tally.read += int(np.size(found))
        return found


def counted_array(values: npt.NDArray[Any], tally: Tally) -> CountedArray:
    array = values.view(CountedArray)
    array.tally = tally
    return array


class Executed:
    """Lines of a module's own code."""

    def __init__(self) -> None:
        self.lines = 0


@contextmanager
def lines_executed(module: ModuleType) -> Iterator[Executed]:
    done, before = Executed(), sys.gettrace()

    def on_line(frame: FrameType, event: str, argument: Any) -> Any:
        done.lines += event == "line"
        return on_line

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        return on_line if frame.f_code.co_filename == module.__file__ else None

    sys.settrace(on_call)
    try:
        yield done
    finally:
        sys.settrace(before)
