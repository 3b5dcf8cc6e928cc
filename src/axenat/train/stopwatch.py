"""Where the time of a step goes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Stopwatch:
    """Seconds in each part since it was last read. A GPU is timed by its own events, which are awaited when read."""

    def __init__(self, device: torch.device) -> None:
        self.on_gpu = device.type == "cuda"
        self.start = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.tokens = 0.0
        self.events: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    @contextmanager
    def part(self, name: str, *, on_gpu: bool = True) -> Iterator[None]:
        if self.on_gpu and on_gpu:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            begin.record()
            yield
            end.record()
            self.events.append((name, begin, end))
            return
        start = time.perf_counter()
        yield
        self._add(name, time.perf_counter() - start)

    def _add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def read(self) -> dict[str, float]:
        """The whole time as `seconds`, its parts, and the tokens that went through in a second of it."""
        for name, begin, end in self.events:
            end.synchronize()
            self._add(name, begin.elapsed_time(end) / 1000)
        now = time.perf_counter()
        seconds = now - self.start
        result = {"tokens_per_second": self.tokens / seconds, "seconds": seconds, **self.seconds}
        self.start, self.seconds, self.tokens, self.events = now, {}, 0.0, []
        return result
