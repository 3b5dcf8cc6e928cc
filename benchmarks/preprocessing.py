"""How fast raw text becomes ids, in how much memory, and how fast words are split beside subword-nmt.

python -m benchmarks.preprocessing --json preprocessing.json

The stages run as a user runs them, each in a process of its own, on corpora of several sizes. Their text is that of
the embedded grammar (or of --source and --target) with invented words, whose number grows as in news.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from axenat.files import read_record, write_yaml
from axenat.timing import interleaved, medians, ratio
from benchmarks.invented_text import Pair, invented_pairs, lines_of_files, lines_of_grammar
from benchmarks.measure import arguments, report

STAGES = ("clean", "learn_subwords", "encode")
KNOWN = 10_000  # pairs of the grammar, repeated with other words
LANGUAGES = {"source_language": "en", "target_language": "de"}
SUBWORD_NMT = [sys.executable, "-c", "from subword_nmt.subword_nmt import main; main()", "apply-bpe"]
OURS = [sys.executable, "-m", "benchmarks.apply_bpe"]
LIMITS = {
    "at_least": {"bpe_speedup": 5.0, "flatness": 0.8},  # pairs/s of the largest corpus : of the smallest
    "at_most": {"megabytes": 1024},  # of each process
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="sizes of corpora")
    parser.add_argument("--bpe-lines", type=int, default=200_000, help="lines to split (default: %(default)s)")
    parser.add_argument("--merges", type=int, default=32_000, help="of subwords (default: %(default)s)")
    parser.add_argument("--source", type=Path, help="text in place of the grammar's, in English")
    parser.add_argument("--target", type=Path, help="line by line the same in German")


def main(argv: list[str] | None = None) -> None:
    args = arguments(__doc__, argv, rounds=3, add=add_arguments)
    threads = args.threads or 2
    given = args.source and args.target
    known = lines_of_files(args.source, args.target) if given else lines_of_grammar(min(KNOWN, max(args.pairs)))
    with tempfile.TemporaryDirectory() as folder:
        corpora = [
            Corpus(Path(folder) / str(pairs), known, pairs, args.merges).measure(threads) for pairs in args.pairs
        ]
        bpe = splitting(Path(folder) / str(args.pairs[-1]), args.bpe_lines, args.rounds, threads)
    speeds = [row["pairs_per_second"] for row in corpora]
    results = {"threads": threads, "corpora": corpora, "flatness": speeds[-1] / speeds[0], **bpe}
    report(args.json, "preprocessing", {**results, "limits": LIMITS}, list(_table(results)))


def _table(results: dict[str, Any]) -> Iterator[list[str]]:
    least, most = LIMITS["at_least"], LIMITS["at_most"]
    yield ["measured", *STAGES, "all", "limit"]
    for row in results["corpora"]:
        stages = row["stages"]
        yield [f"{row['pairs']} pairs: pairs/s", *(f"{stages[stage]['pairs_per_second']:.0f}" for stage in STAGES),
               f"{row['pairs_per_second']:.0f}", ""]  # fmt: skip
        yield ["  peak MB of a process", *(f"{stages[stage]['megabytes']:.0f}" for stage in STAGES),
               f"{row['megabytes']:.0f}", f"<= {most['megabytes']}"]  # fmt: skip
    empty = [""] * len(STAGES)
    yield ["pairs/s, largest : smallest", *empty, f"{results['flatness']:.2f}", f">= {least['flatness']}"]
    yield ["splitting, ours : one subword-nmt", *empty, f"{results['bpe_speedup']:.1f}", f">= {least['bpe_speedup']}"]
    yield ["  seconds of a core, one subword-nmt : ours", *empty, f"{results['bpe_processor_ratio']:.1f}", ""]
    for name, speed in results["bpe_lines_per_second"].items():
        yield [f"  lines/s of {name}", *empty, f"{speed:.0f}", ""]


class Corpus:
    """Raw text of so many pairs in a folder, and the stages on it."""

    def __init__(self, folder: Path, known: list[Pair], pairs: int, merges: int) -> None:
        self.folder, self.pairs = folder, pairs
        folder.mkdir(parents=True)
        with (folder / "raw.en").open("w") as source, (folder / "raw.de").open("w") as target:
            for pair in islice(invented_pairs(known), pairs):
                print(pair[0], file=source)
                print(pair[1], file=target)
        write_yaml(folder / "clean.yaml", {**LANGUAGES, "drop_duplicates": True})
        write_yaml(folder / "subwords.yaml", {**LANGUAGES, "merges": merges})

    def flags(self, stage: str) -> list[Any]:
        folder, words = self.folder, ["--source", self.folder / "words.en", "--target", self.folder / "words.de"]
        return {
            "clean": ["--config", folder / "clean.yaml", "--split", "train", "--source", folder / "raw.en",
                      "--target", folder / "raw.de", "--out-source", folder / "words.en",
                      "--out-target", folder / "words.de", "--counts", folder / "counts.json"],
            "learn_subwords": ["--config", folder / "subwords.yaml", *words, "--out", folder / "subwords"],
            "encode": ["--subwords", folder / "subwords", *words, "--out", folder / "ids"],
        }[stage]  # fmt: skip

    def measure(self, threads: int) -> dict[str, Any]:
        stages = {}
        for stage in STAGES:
            command = [sys.executable, "-m", "axenat.cli", stage, *map(str, self.flags(stage)), "--threads", threads]
            seconds, megabytes = run_watched([str(word) for word in command])
            stages[stage] = {"seconds": seconds, "pairs_per_second": self.pairs / seconds, "megabytes": megabytes}
        counts = read_record(self.folder / "counts.json")
        return {
            "pairs": self.pairs, "kept": counts["kept"], "words": counts["source_words"] + counts["target_words"],
            "stages": stages, "megabytes": max(row["megabytes"] for row in stages.values()),
            "pairs_per_second": self.pairs / sum(row["seconds"] for row in stages.values()),
        }  # fmt: skip


def run_watched(command: list[str]) -> tuple[float, float]:
    """Seconds of a command, and the most MB that one of its processes ever held (Linux)."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    highest, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            highest.append(max(highest.pop(), *map(peak_kilobytes, family(process.pid))))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        code = process.wait()
    finally:
        done.set()
        thread.join()
    if code:
        raise SystemExit(f"{' '.join(command)} failed with exit code {code}")
    return time.perf_counter() - start, highest[0] / 1024


def family(process: int) -> list[int]:
    """A process and all that it started."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except OSError:  # it has just ended
        return [process]
    return [process, *(one for child in children for one in family(child))]


def peak_kilobytes(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/status").read_text().split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        return 0


def splitting(folder: Path, lines: int, rounds: int, threads: int) -> dict[str, Any]:
    """Both from a file of words to a file of subwords, start-up included, taking turns."""
    text, codes = folder / "some.de", folder / "subwords" / "codes.target"
    with (folder / "words.de").open("rb") as stream:
        text.write_bytes(b"".join(islice(stream, lines)))
    outs = {name: folder / f"some.{name}" for name in ("ours", "subword-nmt")}
    commands = {
        "ours": [*OURS, "--codes", codes, "--input", text, "--output", outs["ours"], "--threads", threads],
        "subword-nmt": [*SUBWORD_NMT, "-c", codes, "-i", text, "-o", outs["subword-nmt"]],
    }
    processor: dict[str, list[float]] = {name: [] for name in commands}
    runs = {name: _runner([str(word) for word in command], processor[name]) for name, command in commands.items()}
    seconds = interleaved(runs, rounds, warm_up=0)
    if outs["ours"].read_bytes() != outs["subword-nmt"].read_bytes():
        raise SystemExit("the two do not write the same")
    return {
        "bpe_speedup": ratio(seconds, "subword-nmt", "ours"),
        "bpe_processor_ratio": ratio(processor, "subword-nmt", "ours"),
        "bpe_lines_per_second": {name: lines / value for name, value in medians(seconds).items()},
    }


def _runner(command: list[str], processor: list[float]) -> Callable[[], None]:
    """Adds the seconds that cores spent on it, which others that use them change less than the time that passes."""

    def run() -> None:
        before = os.times()
        subprocess.run(command, check=True)
        after = os.times()
        processor.append(after.children_user + after.children_system - before.children_user - before.children_system)

    return run


if __name__ == "__main__":
    main()
