"""`axenat clean_references`: the words of all references of valid or test, where a sentence has several.

Further references are tokenised like the target side, which `axenat clean` has tokenised already. One line for each
sentence, its references separated by tabs, so that no score has to tokenise them again.
"""

import argparse
from functools import partial
from pathlib import Path

from axenat.data.held_out import write_reference_words
from axenat.data.text import tokenise
from axenat.files import check_parallel, read_lines
from axenat.stages.clean import read_clean_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="languages and text (YAML)")
    parser.add_argument("--target", type=Path, required=True, help="tokenised target side, the first reference")
    parser.add_argument("--references", type=Path, nargs="+", required=True, help="plain further references, in order")
    parser.add_argument("--out", type=Path, required=True, help="tokenised text of all references")


def main(args: argparse.Namespace) -> None:
    section, _ = read_clean_config(args.config)
    words = [read_lines(args.target)]
    for path in args.references:
        lines = read_lines(path)
        check_parallel(args.target, len(words[0]), path, len(lines))
        words.append(list(map(partial(tokenise, language=section.target_language, text=section.text), lines)))
    write_reference_words(args.out, words)
