"""`axenat download`: the raw text of a corpus, written by the grammar or copied from a folder."""

import argparse
from pathlib import Path
from typing import Any

from axenat.data.demo import demo_corpus
from axenat.files import UserError, read_lines, read_mapping, write_lines

SPLITS = ("train", "valid", "test")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="where the text comes from (YAML)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the raw text")


def main(args: argparse.Namespace) -> None:
    config = read_mapping(args.config)
    files = _generated(config) if config["grammar"] else _copied(config)
    for name, lines in files.items():
        write_lines(args.out / name, lines)


def _generated(config: dict[str, Any]) -> dict[str, list[str]]:
    return demo_corpus(references=config["references"], **config["grammar"])


def _copied(config: dict[str, Any]) -> dict[str, list[str]]:
    """Everything is read and checked before anything is written."""
    source, target = config["source_language"], config["target_language"]
    files: dict[str, list[str]] = {}
    for split in SPLITS:
        names = [f"{split}.{source}", f"{split}.{target}"]
        if split != "train":
            names += [f"{split}.ref{number}.{target}" for number in range(1, config["references"])]
            names += [f"{split}.accept"] if config["judged"] else []
        for name in names:
            files[name] = read_lines(Path(config["folder"]) / name)
            if not files[name]:
                raise UserError(f"{Path(config['folder']) / name} is empty; a corpus needs at least one pair")
            if len(files[name]) != len(files[names[0]]):
                raise UserError(
                    f"{Path(config['folder']) / name} has {len(files[name])} lines but {names[0]} has "
                    f"{len(files[names[0]])}; a parallel corpus needs the same number"
                )
    return files
