"""The raw text of a split: written by the grammar, copied from a folder, or unpacked from the archives of a recipe."""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axenat.corpus_config import SPLITS, GrammarConfig
from axenat.data.demo import demo_corpus
from axenat.data.unpack import unpack
from axenat.files import UserError, iter_lines, read_yaml, write_json, write_lines
from axenat.recipe import Published
from axenat.records import as_plain, build, exactly_one, one_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where the text of a split comes from: one of grammar, folder and published."""

    split: str
    source_language: str
    target_language: str
    references: int = 1
    judged: bool = False
    grammar: GrammarConfig | None = None
    folder: str | None = None
    published: Published | None = None

    def __post_init__(self) -> None:
        one_of("split", self.split, SPLITS)
        exactly_one(grammar=self.grammar, folder=self.folder, published=self.published)

    @property
    def names(self) -> list[str]:
        """The files of the split, the source first."""
        names = [f"{self.split}.{language}" for language in (self.source_language, self.target_language)]
        if self.split != "train":
            names += [f"{self.split}.ref{number}.{self.target_language}" for number in range(1, self.references)]
            names += [f"{self.split}.accept"] if self.judged else []
        return names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="where the text of which split comes from (YAML)")
    archives = Path("data/archives")
    parser.add_argument("--archives", type=Path, default=archives, help="folder that `axenat fetch` filled")
    parser.add_argument("--out", type=Path, required=True, help="folder for the raw text, and for its counts")


def main(args: argparse.Namespace) -> None:
    origin = build(Origin, read_yaml(args.config), str(args.config))
    if origin.published is not None:
        parts = unpack(origin.published, origin.names, args.archives, args.out)
    else:
        parts = {origin.split: {"pairs": _write(origin, args.out)}}
    write_json(args.out / f"{origin.split}.json", {"split": origin.split, "parts": parts})


def _write(origin: Origin, out: Path) -> int:
    if origin.folder is not None:
        pairs = _checked(origin, Path(origin.folder))
        files: dict[str, Iterable[str]] = {name: iter_lines(Path(origin.folder) / name) for name in origin.names}
    else:
        # All of it: the splits are drawn one after the other.
        written: dict[str, Any] = demo_corpus(references=origin.references, **as_plain(origin.grammar))
        files, pairs = {name: written[name] for name in origin.names}, len(written[origin.names[0]])
    for name, lines in files.items():
        write_lines(out / name, lines)
    return pairs


def _checked(origin: Origin, folder: Path) -> int:
    """How many pairs; everything is read and checked before anything is written."""
    lines = {name: sum(1 for _ in iter_lines(folder / name)) for name in origin.names}
    first, pairs = next(iter(lines.items()))
    for name, found in lines.items():
        if not found:
            raise UserError(f"{folder / name} is empty; a corpus needs at least one pair")
        if found != pairs:
            words = f"{folder / name} has {found} lines but {first} has {pairs}"
            raise UserError(f"{words}; a parallel corpus needs the same number")
    return pairs
