"""`axenat average`: the mean of the best checkpoints, with all that a translator needs beside it."""

import argparse
from pathlib import Path
from typing import Any

from safetensors.numpy import save

from axenat.files import UserError, atomic, read_record, read_text, require, sha256_of, write_text
from axenat.layout import SUBWORD_FILES
from axenat.train.average import average, origin
from axenat.train.checkpoint import forget_states


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--best", type=Path, required=True, help="best.json of the run, its checkpoints beside it")
    parser.add_argument("--subwords", type=Path, required=True, help="folder with codes and vocabularies")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")


def main(args: argparse.Namespace) -> None:
    folder = args.best.parent / "checkpoints"
    best = _checkpoints(args.best)
    for entry in best:
        path = folder / entry["file"]
        if not path.exists() or sha256_of(path) != entry["sha256"]:
            raise UserError(f"{path} is missing or changed since {args.best} was written; train the run again")
    mean = average([folder / entry["file"] for entry in best])
    for name in SUBWORD_FILES:
        write_text(args.out / name, read_text(args.subwords / name))
    with atomic(args.out / "model.safetensors", "wb") as stream:
        stream.write(save(mean, origin((entry["step"] for entry in best), args.out)))
    forget_states(folder)


def _checkpoints(path: Path) -> list[dict[str, Any]]:
    entries = read_record(path, "checkpoints")["checkpoints"]
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{path}: checkpoints must be a list of at least one, got {str(entries)[:50]}")
    return [require(f"{path}, checkpoints", entry, "file", "sha256", "step") for entry in entries]
