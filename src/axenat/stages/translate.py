"""`axenat translate`: plain text in, translations out, line by line."""

import argparse
import logging
import sys
from collections.abc import Iterable
from pathlib import Path

from axenat.decode.translator import Translator
from axenat.files import decode_lines, read_lines, write_lines
from axenat.train.devices import device_of, use_threads

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True, help="folder of a run")
    parser.add_argument("--input", type=Path, help="text file, one sentence a line (default: standard input)")
    parser.add_argument("--output", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--tokenised", type=Path, help="also write the tokenised words here")
    parser.add_argument("--subwords", type=Path, help="also write the subwords here")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")


def main(args: argparse.Namespace) -> None:
    use_threads(args.threads)
    translator = Translator(args.model, device_of(args.device))
    lines = read_lines(args.input) if args.input else list(decode_lines(sys.stdin.buffer, "standard input"))
    translations = translator.translate(lines)
    if translator.num_cut:
        longest = translator.model.max_positions - 1
        log.warning("%d of %d lines were cut to the model's %d subwords", translator.num_cut, len(lines), longest)
    _write(args.output, (one.text for one in translations))
    if args.tokenised:
        write_lines(args.tokenised, (one.words for one in translations))
    if args.subwords:
        write_lines(args.subwords, (one.subwords for one in translations))


def _write(path: Path | None, lines: Iterable[str]) -> None:
    if path:
        write_lines(path, lines)
        return
    for line in lines:
        print(line)
