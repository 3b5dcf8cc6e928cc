"""Raw text to tokenised words; pairs unfit for training are left out of train, never of valid and test."""

import argparse
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

from axenat.corpus_config import SPLITS, CleanConfig
from axenat.data.cleaning import Tokeniser, clean_pairs
from axenat.data.lines import read_pairs
from axenat.data.text import REASONS
from axenat.data.text_section import TextSection
from axenat.data.workers import processes_of
from axenat.files import UserError, atomic, read_mapping, refuse_twice, write_json
from axenat.progress import long_work
from axenat.records import build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="languages, text and filters (YAML)")
    parser.add_argument("--source", type=Path, required=True, help="raw source text, one sentence a line")
    parser.add_argument("--target", type=Path, required=True, help="raw target text, line by line the same")
    parser.add_argument("--split", choices=SPLITS, required=True)
    parser.add_argument("--out-source", type=Path, required=True, help="tokenised source text")
    parser.add_argument("--out-target", type=Path, required=True, help="tokenised target text")
    parser.add_argument("--counts", type=Path, required=True, help="how many pairs were kept and why others not")
    parser.add_argument("--threads", type=int, help="processes at work (default: all cores); changes no byte")


def main(args: argparse.Namespace) -> None:
    section, rules = read_clean_config(args.config)
    refuse_twice(args.out_source, args.out_target, args.counts)
    # Scores are only comparable on the whole of valid and test.
    filters = rules if args.split == "train" else None
    tokeniser = Tokeniser(section.source_language, section.target_language, section.text, filters)
    cleaned = clean_pairs(read_pairs(args.source, args.target), tokeniser, processes_of(args.threads))
    counts = {"pairs": 0, "kept": 0, "source_words": 0, "target_words": 0}
    dropped: Counter[str] = Counter()
    with (
        atomic(args.out_source) as sources,
        atomic(args.out_target) as targets,
        long_work(None, unit="pair") as advance,
    ):
        for words in cleaned:
            sources.writelines(f"{source}\n" for source, _ in words.pairs)
            targets.writelines(f"{target}\n" for _, target in words.pairs)
            dropped += words.dropped
            counts["pairs"] += len(words.pairs) + words.dropped.total()
            counts["kept"] += len(words.pairs)
            counts["source_words"] += words.source_words
            counts["target_words"] += words.target_words
            advance(counts["pairs"])
        if not counts["kept"]:
            (reason, count), *_ = dropped.most_common(1)
            lost = f"{count} are dropped as {reason}"
            raise UserError(f"{args.source} and {args.target}: no pair is left after filtering ({lost})")
    reasons = {reason: dropped[reason] for reason in REASONS}
    write_json(args.counts, {"split": args.split, **counts, "dropped": reasons})


def read_clean_config(path: Path) -> tuple[TextSection, CleanConfig]:
    values: dict[str, Any] = read_mapping(path)
    section = {item.name: values.pop(item.name) for item in fields(TextSection) if item.name in values}
    return build(TextSection, section, str(path)), build(CleanConfig, values, str(path))
