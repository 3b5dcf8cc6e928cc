"""Fair timing on a noisy machine: whatever is compared takes turns, and medians are taken."""

import statistics
import time
from collections.abc import Callable, Mapping

Seconds = dict[str, list[float]]


def interleaved(functions: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 1) -> Seconds:
    """Seconds of each function in each round; a round runs them all, so that noise hits them alike."""
    seconds: Seconds = {name: [] for name in functions}
    for number in range(warm_up + rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if number >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: Seconds, above: str, below: str) -> float:
    """The median of the rounds' own ratios."""
    return statistics.median(a / b for a, b in zip(seconds[above], seconds[below], strict=True))


def medians(seconds: Seconds) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in seconds.items()}
