"""Tokenised text to one file of ids, both sides together."""

import argparse
from pathlib import Path

from axenat.data.corpus import vocab_metadata, write_corpus
from axenat.data.subwords import Subwords
from axenat.data.vocab import Vocab
from axenat.files import read_parallel
from axenat.progress import progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subwords", type=Path, required=True, help="folder with codes and vocab of each side")
    parser.add_argument("--source", type=Path, required=True, help="tokenised source text")
    parser.add_argument("--target", type=Path, required=True, help="tokenised target text")
    parser.add_argument("--out", type=Path, required=True, help="file of ids (safetensors)")


def main(args: argparse.Namespace) -> None:
    source_codes, target_codes = (Subwords.load(args.subwords / f"codes.{side}") for side in ("source", "target"))
    source_vocab, target_vocab = (Vocab.load(args.subwords / f"vocab.{side}") for side in ("source", "target"))
    sources, targets = read_parallel(args.source, args.target)
    write_corpus(
        args.out,
        (
            source_vocab.encode(source_codes.apply(line))
            for line in progress(sources, total=len(sources), desc="encode")
        ),
        (target_vocab.encode(target_codes.apply(line)) for line in targets),
        metadata=vocab_metadata(source_vocab, target_vocab),
    )
