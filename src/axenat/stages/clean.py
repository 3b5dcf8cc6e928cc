"""Raw text to tokenised words; pairs unfit for training are left out of train, never of valid and test."""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axenat.config import SPLITS, CleanConfig
from axenat.data.text import REASONS, judge_pairs, tokenise
from axenat.files import UserError, atomic, read_parallel, read_yaml, write_json
from axenat.progress import progress
from axenat.records import ConfigError, as_plain, build


@dataclass(frozen=True, kw_only=True, slots=True)
class Languages:
    source_language: str
    target_language: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="languages and filters (YAML)")
    parser.add_argument("--source", type=Path, required=True, help="raw source text, one sentence a line")
    parser.add_argument("--target", type=Path, required=True, help="raw target text, line by line the same")
    parser.add_argument("--split", choices=SPLITS, required=True)
    parser.add_argument("--out-source", type=Path, required=True, help="tokenised source text")
    parser.add_argument("--out-target", type=Path, required=True, help="tokenised target text")
    parser.add_argument("--counts", type=Path, required=True, help="how many pairs were kept and why others not")


def main(args: argparse.Namespace) -> None:
    languages, rules = read_clean_config(args.config)
    sources, targets = read_parallel(args.source, args.target)
    pairs = [
        (tokenise(source, languages.source_language), tokenise(target, languages.target_language))
        for source, target in progress(
            zip(sources, targets, strict=True), total=len(sources), desc=f"clean {args.split}"
        )
    ]
    # Scores are only comparable on the whole of valid and test.
    filtered = args.split == "train"
    reasons = list(judge_pairs(pairs, **as_plain(rules))) if filtered else [None] * len(pairs)
    kept = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
    if not kept:
        raise UserError(f"{args.source} and {args.target}: no pair is left after filtering ({_most(reasons)})")
    with atomic(args.out_source) as source_stream, atomic(args.out_target) as target_stream:
        for source, target in kept:
            source_stream.write(f"{source}\n")
            target_stream.write(f"{target}\n")
    counted = Counter(reasons)
    write_json(
        args.counts,
        {
            "split": args.split,
            "pairs": len(pairs),
            "kept": len(kept),
            "dropped": {reason: counted[reason] for reason in REASONS},
        },
    )


def read_clean_config(path: Path) -> tuple[Languages, CleanConfig]:
    values: Any = read_yaml(path)
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must be a mapping of keys, got {values!r}")
    languages = {key: values.pop(key) for key in Languages.__slots__ if key in values}
    return build(Languages, languages, str(path)), build(CleanConfig, values, str(path))


def _most(reasons: Sequence[str | None]) -> str:
    (reason, count), *_ = Counter(reasons).most_common(1)
    return f"{count} are dropped as {reason}"
