"""Fair measurements on a noisy machine: interleaved runs, medians of ratios, memory in a process of its own."""

import argparse
import multiprocessing
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from axenat.files import write_json


def arguments(
    description: str | None,
    argv: list[str] | None,
    rounds: int,
    add: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
) -> argparse.Namespace:
    """What every benchmark is told, and what `add` adds; the number of threads is taken at once."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where the results go")
    parser.add_argument("--rounds", type=int, default=rounds, help="interleaved runs (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")
    add(parser)
    args = parser.parse_args(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    return args


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function gives in a process that has done nothing else."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, torch.get_num_threads(), function, *arguments))
    process.start()
    sender.close()
    result = receiver.recv()
    process.join()
    return result


def _send(sender: Any, threads: int, function: Callable[..., Any], *arguments: Any) -> None:
    torch.set_num_threads(threads)
    sender.send(function(*arguments))


def peak_megabytes(prepare: Callable[..., Callable[[], object]], *arguments: Any) -> float:
    """What the prepared function adds to the memory of a fresh process at its highest (Linux)."""
    peak: float = in_fresh_process(_peak, prepare, *arguments)
    return peak


def _peak(prepare: Callable[..., Callable[[], object]], *arguments: Any) -> float:
    step = prepare(*arguments)
    _forget_peak()
    before = _status("VmRSS")
    step()
    return (_status("VmHWM") - before) / 1024


@contextmanager
def peaks() -> Iterator[dict[str, float]]:
    """The most memory of this process meanwhile (Linux): resident, and anonymous, which maps no file.

    Pages of mapped files are the system's to take back; only anonymous ones are needed. These are looked at
    every few milliseconds.
    """
    found: dict[str, float] = {}
    highest, done = [_status("RssAnon")], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            highest.append(max(highest.pop(), _status("RssAnon")))

    thread = threading.Thread(target=watch)
    _forget_peak()
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()
        found |= {"resident_megabytes": _status("VmHWM") / 1024, "anonymous_megabytes": highest[0] / 1024}


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew


def _status(name: str) -> int:
    """A value of this process in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split()[1])


def machine() -> dict[str, Any]:
    return {
        "processor": platform.processor() or platform.machine(), "threads": torch.get_num_threads(),
        "torch": torch.__version__, "python": platform.python_version(),
    }  # fmt: skip


def report(path: Path | None, name: str, results: dict[str, Any], table: list[list[str]]) -> None:
    """The table on standard output, everything as JSON."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if path:
        write_json(path, {"benchmark": name, "machine": machine(), **results})
