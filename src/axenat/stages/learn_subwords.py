"""Tokenised train text to subword codes and vocabularies, joint or one for each side."""

import argparse
from pathlib import Path

from axenat.config import SubwordsConfig
from axenat.data.subwords import Subwords, learn
from axenat.data.vocab import Vocab
from axenat.files import read_parallel, read_yaml, write_lines
from axenat.records import build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="merges, joint, min_count, max_vocabulary (YAML)")
    parser.add_argument("--source", type=Path, required=True, help="tokenised source side of train")
    parser.add_argument("--target", type=Path, required=True, help="tokenised target side of train")
    parser.add_argument("--out", type=Path, required=True, help="folder for codes and vocab of source and target")


def main(args: argparse.Namespace) -> None:
    config = build(SubwordsConfig, read_yaml(args.config), str(args.config))
    sources, targets = read_parallel(args.source, args.target)
    if config.joint:
        learnt = [learn_side([*sources, *targets], config)] * 2
    else:
        learnt = [learn_side(sources, config), learn_side(targets, config)]
    for side, (codes, vocab) in zip(("source", "target"), learnt, strict=True):
        write_lines(args.out / f"codes.{side}", codes)
        vocab.save(args.out / f"vocab.{side}")


def learn_side(lines: list[str], config: SubwordsConfig) -> tuple[list[str], Vocab]:
    codes = learn(lines, config.merges)
    subwords = Subwords(codes)
    max_size = config.max_vocabulary or None
    return codes, Vocab.build(map(subwords.apply, lines), max_size, config.min_count)
