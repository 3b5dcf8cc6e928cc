"""`axenat translate`: plain text in, translations out, line by line.

An empty line stays empty. A line beyond the model's positions is cut there; how many were is told at the end.
With --n-best, --scores or --alignments the output has columns, separated by tabs: the number of the line (with
--n-best), the translation, its score (log-probability, divided as the run's configuration says), and pairs of words
such as 0-0 1-2: source and target, counted from 0, punctuation apart as the Moses tokeniser has it.
"""

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path

from axenat.decode.columns import lines_of
from axenat.decode.translator import Translator
from axenat.decodings import PRECISIONS
from axenat.files import UserError, atomic, count_lines, decode_lines, iter_lines, refuse_twice, write_json
from axenat.progress import long_work
from axenat.systems.registry import all_engines
from axenat.train.devices import device_of, use_threads

log = logging.getLogger(__name__)
LINES_AT_ONCE = 4096  # enough for full batches of any length


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True, help="folder of a run")
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--input", type=Path, help="text file, one sentence a line (default: standard input)")
    given.add_argument("--input-words", type=Path, metavar="FILE", help="tokenised text, as `axenat clean` writes it")
    parser.add_argument("--output", type=Path, help="file to write (default: standard output)")
    parser.add_argument("--tokenised", type=Path, help="also write the tokenised words here")
    parser.add_argument("--subwords", type=Path, help="also write the subwords here")
    parser.add_argument("--record", type=Path, help="also write here what decoded: engine, precision, decoding, value")
    parser.add_argument("--decode", metavar="NAME", help="beam1, ell1, ell5-t4 and so on (default: as the run says)")
    parser.add_argument("--n-best", type=int, metavar="N", help="up to N translations of each line, best first")
    parser.add_argument("--scores", action="store_true", help="also the score that ranks them")
    parser.add_argument("--alignments", action="store_true", help="also the source word that each word looks at")
    parser.add_argument("--engine", choices=("auto", *all_engines()), help="what decodes (default: as the run says)")
    parser.add_argument("--precision", choices=("auto", *PRECISIONS), help="of the engine")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")
    parser.add_argument(
        "--lines-at-once", type=int, metavar="N",
        help=f"translations come out after so many lines (default: {LINES_AT_ONCE}; 1 on a terminal)",
    )  # fmt: skip


def main(args: argparse.Namespace) -> None:
    use_threads(args.threads)
    for flag, value in (("--n-best", args.n_best), ("--lines-at-once", args.lines_at_once)):
        if value is not None and value < 1:
            raise UserError(f"{flag} {value}: must be at least 1")
    refuse_twice(args.output, args.tokenised, args.subwords, args.record)
    source = args.input or args.input_words
    if (source is None and sys.stdin is None) or (args.output is None and sys.stdout is None):
        raise UserError("standard input or output is closed; name files with --input and --output")
    at_once = args.lines_at_once or (1 if source is None and sys.stdin.isatty() else LINES_AT_ONCE)
    changes = {key: value for key in ("engine", "precision") if (value := getattr(args, key))}
    translator = Translator(args.model, device_of(args.device), args.decode, latency=at_once == 1, **changes)
    lines = iter_lines(source) if source else decode_lines(sys.stdin.buffer, "standard input")
    num_lines = num_cut = 0
    with ExitStack() as stack:
        text = stack.enter_context(atomic(args.output)) if args.output else sys.stdout
        also = {
            form: stack.enter_context(atomic(path))
            for form, path in (("words", args.tokenised), ("subwords", args.subwords)) if path
        }  # fmt: skip
        advance, done = stack.enter_context(long_work(_total(source), unit="line", tell_end=False)), count(1)
        for block in _blocks(lines, at_once):
            words = block if args.input_words else translator.tokenise(block)
            found = translator.best_translations(words, args.n_best or 1, advance=lambda: advance(next(done)))
            first = num_lines + 1 if args.n_best else None
            text.writelines(
                lines_of(translator, words, found, first=first, scores=args.scores, alignments=args.alignments)
            )
            text.flush()
            for form, stream in also.items():
                stream.writelines(f"{getattr(best[0], form)}\n" for best in found)
            num_lines, num_cut = num_lines + len(block), num_cut + translator.num_cut
    if args.record:
        write_json(args.record, translator.record())
    if num_cut:
        longest = translator.model.max_positions - 1
        log.warning("%d of %d lines were cut to the model's %d subwords", num_cut, num_lines, longest)


def _total(path: Path | None) -> int | None:
    """None for what can be read only once."""
    return count_lines(path) if path and path.is_file() else None


def _blocks(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    while block := list(islice(lines, size)):
        yield block
