"""What following a training in MLflow costs it, with a store that answers, one that is down and one that never answers.

python -m benchmarks.tracking --json tracking.json

Blocked is the time that the training itself waits, to start and to end the process that follows it. That process works
at the lowest priority; its processor time is all that it could take from others on a machine without an idle core.
"""

import os
import resource
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from axenat.data.corpus import ParallelCorpus
from axenat.files import write_text, write_yaml
from axenat.publishing.follow import following
from axenat.systems.registry import settings_of
from axenat.tracking import Tracker
from benchmarks.measure import arguments, report
from benchmarks.training import SIZES, our_steps, random_corpus

STORES = ("none", "database", "down", "silent")
LIMITS = {"at_most": {"blocked_share": 0.01}}


def main(argv: list[str] | None = None) -> None:
    args = arguments(__doc__, argv, rounds=3, add=lambda parser: parser.add_argument(
        "--seconds", type=float, default=60.0, help="of each training (default: %(default)s)"))  # fmt: skip
    with tempfile.TemporaryDirectory() as place, stores(Path(place)) as uris:
        steps, folder = _steps(Path(place)), _run_folder(Path(place))
        rows: dict[str, list[dict[str, float]]] = {name: [] for name in STORES}
        for _ in range(args.rounds):
            for name in STORES:
                rows[name].append(train(steps, folder, uris[name], args.seconds))
    results = {
        name: {key: statistics.median(row[key] for row in rows[name]) for key in rows[name][0]} for name in STORES
    }
    for name in STORES:
        speeds = (
            row["tokens_per_second"] / own["tokens_per_second"]
            for own, row in zip(rows[name], rows["none"], strict=True)
        )
        results[name]["slowdown"] = statistics.median(speeds)
    report(args.json, "tracking", {"seconds": args.seconds, "stores": results, "limits": LIMITS}, list(_table(results)))


def _table(results: dict[str, dict[str, float]]) -> Iterator[list[str]]:
    yield ["store", "blocked s", "blocked share", "limit", "processor s of the follower", "time alone : followed"]
    for name, row in results.items():
        limit = f"<= {LIMITS['at_most']['blocked_share']}"
        yield [name, f"{row['blocked_seconds']:.4f}", f"{row['blocked_share']:.5f}", limit,
               f"{row['processor_seconds']:.2f}", f"{row['slowdown']:.3f}"]  # fmt: skip


def train(steps: Iterator[int], folder: Path, uri: str | None, seconds: float) -> dict[str, float]:
    """Real steps for so long, followed or not."""
    os.environ["MLFLOW_TRACKING_URI"] = uri or ""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    with following(folder) if uri else nullcontext():
        start = time.perf_counter()
        tokens, end = 0, start + seconds
        while time.perf_counter() < end:
            tokens += next(steps)
        stop = time.perf_counter()
    blocked = (start - began) + (time.perf_counter() - stop)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = sum(getattr(after, key) - getattr(before, key) for key in ("ru_utime", "ru_stime"))
    return {
        "blocked_seconds": blocked, "blocked_share": blocked / (stop - start), "processor_seconds": used,
        "tokens_per_second": tokens / (stop - start),
    }  # fmt: skip


@contextmanager
def stores(folder: Path) -> Iterator[dict[str, str | None]]:
    """A database that is ready, a port where nobody listens, and one that takes connections and never answers."""
    os.environ.setdefault("AXENAT_FOLLOW_SECONDS", "10")
    database = f"sqlite:///{folder}/mlflow.db"
    Tracker(database)
    with socket.socket() as down:
        down.bind(("127.0.0.1", 0))
        nobody = down.getsockname()[1]
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1000)
        yield {
            "none": None, "database": database, "down": f"http://127.0.0.1:{nobody}",
            "silent": f"http://127.0.0.1:{silent.getsockname()[1]}",
        }  # fmt: skip


def _steps(folder: Path) -> Iterator[int]:
    size = SIZES["demo"]
    columns = size.lengths(np.random.default_rng(1), size.pairs)
    corpus = ParallelCorpus(random_corpus(folder / "ids", columns, size.V))
    return our_steps(size, settings_of("masked"), corpus, {})


def _run_folder(folder: Path) -> Path:
    """With lines of history for the follower to send."""
    run = folder / "results" / "runs" / "axe"
    config: dict[str, Any] = {"run": "axe", "corpus": "demo", "target_side": "raw", "objective": {"name": "axe"}}
    write_yaml(run / "config.yaml", config)
    lines = (f'{{"kind": "train", "step": {step}, "loss": {1 / step}}}\n' for step in range(1, 1001))
    write_text(run / "checkpoints" / "history.jsonl", "".join(lines))
    return run


if __name__ == "__main__":
    main()
