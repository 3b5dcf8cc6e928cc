"""`axenat distil`: one shard of the train split, translated by the teacher."""

import argparse
import re
from pathlib import Path

from axenat.decode.translator import Translator
from axenat.files import UserError, read_lines, write_lines
from axenat.train.devices import device_of, use_threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True, help="folder of the teacher's run")
    parser.add_argument("--source", type=Path, required=True, help="tokenised source text of train")
    parser.add_argument("--shard", required=True, help="which part, counted from 1: 2-of-8")
    parser.add_argument("--out", type=Path, required=True, help="tokenised translations of this shard")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")


def main(args: argparse.Namespace) -> None:
    use_threads(args.threads)
    lines = shard_of(read_lines(args.source), args.shard)
    translator = Translator(args.model, device_of(args.device))
    write_lines(args.out, (one.words for one in translator.translate_words(lines)))


def shard_of(lines: list[str], shard: str) -> list[str]:
    """A contiguous part; the parts in order are the whole, and differ in size by one line at most."""
    match = re.fullmatch(r"([0-9]+)-of-([0-9]+)", shard)
    number, parts = (int(part) for part in match.groups()) if match else (0, 0)
    if not 1 <= number <= parts:
        raise UserError(f"--shard {shard}: expected a part of a whole, such as 2-of-8")
    return lines[len(lines) * (number - 1) // parts : len(lines) * number // parts]
