"""Tokenised text to one file of ids, both sides together."""

import argparse
from pathlib import Path

from axenat.data.corpus import vocab_metadata
from axenat.data.corpus_writer import write_chunks
from axenat.data.encoding import Encoder, encode_pairs
from axenat.data.lines import read_pairs
from axenat.data.workers import processes_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subwords", type=Path, required=True, help="folder with codes and vocab of each side")
    parser.add_argument("--source", type=Path, required=True, help="tokenised source text")
    parser.add_argument("--target", type=Path, required=True, help="tokenised target text")
    parser.add_argument("--out", type=Path, required=True, help="file of ids (safetensors)")
    parser.add_argument("--threads", type=int, help="processes at work (default: all cores); changes no byte")


def main(args: argparse.Namespace) -> None:
    encoder = Encoder(args.subwords)
    source_vocab, target_vocab = encoder.source.vocab, encoder.target.vocab
    write_chunks(
        args.out,
        encode_pairs(read_pairs(args.source, args.target), encoder, processes_of(args.threads)),
        sizes=(len(source_vocab), len(target_vocab)),
        metadata=vocab_metadata(source_vocab, target_vocab),
    )
