"""`axenat download`: the raw text of a corpus, written by the grammar or copied from a folder."""

import argparse
from pathlib import Path

from axenat.config import SPLITS, CorpusConfig
from axenat.data.demo import demo_corpus
from axenat.files import UserError, read_lines, read_yaml, write_lines
from axenat.records import as_plain, build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="where the text comes from (YAML)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the raw text")


def main(args: argparse.Namespace) -> None:
    config = build(CorpusConfig, read_yaml(args.config), str(args.config))
    files = _copied(config, Path(config.folder)) if config.folder is not None else _generated(config)
    for name, lines in files.items():
        write_lines(args.out / name, lines)


def _generated(config: CorpusConfig) -> dict[str, list[str]]:
    return demo_corpus(references=config.references, **as_plain(config.grammar))


def _copied(config: CorpusConfig, folder: Path) -> dict[str, list[str]]:
    """Everything is read and checked before anything is written."""
    source, target = config.source_language, config.target_language
    files: dict[str, list[str]] = {}
    for split in SPLITS:
        names = [f"{split}.{source}", f"{split}.{target}"]
        if split != "train":
            names += [f"{split}.ref{number}.{target}" for number in range(1, config.references)]
            names += [f"{split}.accept"] if config.judged else []
        for name in names:
            files[name] = read_lines(folder / name)
            if not files[name]:
                raise UserError(f"{folder / name} is empty; a corpus needs at least one pair")
            if len(files[name]) != len(files[names[0]]):
                raise UserError(
                    f"{folder / name} has {len(files[name])} lines but {names[0]} has "
                    f"{len(files[names[0]])}; a parallel corpus needs the same number"
                )
    return files
