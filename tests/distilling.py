"""A corpus that a tiny teacher distils in moments, and a hand that kills it at work."""

import os
import random
from pathlib import Path

from axenat.files import write_json, write_lines, write_text
from tests import tiny

LINES = 300  # nine chunks and a bit
SEED = 6  # of a model that ends about half of its sentences by itself

KILLER = """
import os, signal, sys

if {shard!r} in sys.orig_argv:
    replace, finished = os.replace, []

    def replace_and_perhaps_die(source, target):
        replace(source, target)
        if "parts" in str(target) and "fingerprint" not in str(target):
            finished.append(target)
        if len(finished) == {chunks}:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = replace_and_perhaps_die
"""


def write_corpus(folder: Path, lines: int = LINES) -> None:
    """Tokenised words, of which a few lines are longer than the model's positions."""
    rng, words = random.Random(1), tiny.LINE.split()
    for side, known in (("source", words[:11]), ("target", words[10:])):
        write_lines(folder / f"train.{side}", (" ".join(rng.choices(known, k=rng.randint(1, 9))) for _ in range(lines)))


def teacher(folder: Path, seed: int = SEED, **decode) -> Path:
    tiny.run_folder(folder, "left_to_right", seed=seed, **decode)
    write_json(folder / "tuned.json", {"key": "length_penalty", "value": 0.8})
    return folder


def killer(folder: Path, shard: str, chunks: int) -> str:
    """A PYTHONPATH under which the process for this shard is killed (SIGKILL) after it has written so many chunks."""
    write_text(folder / "sitecustomize.py", KILLER.format(shard=shard, chunks=chunks))
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
