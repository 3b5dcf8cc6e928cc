"""Tokenised train text to all that turns text into ids: truecasers, subword codes, vocabularies, joint or not."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from axenat.corpus_config import SubwordsConfig
from axenat.data.learning import Text, WordsOfChunk, learn_sides, learn_truecasers, save_all
from axenat.data.text_section import TextSection
from axenat.data.workers import processes_of
from axenat.files import read_mapping
from axenat.records import build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="languages, text, merges and the like (YAML)")
    parser.add_argument("--source", type=Path, required=True, help="tokenised source side of train")
    parser.add_argument("--target", type=Path, required=True, help="tokenised target side of train")
    parser.add_argument("--out", type=Path, required=True, help="folder for what is learnt of source and target")
    parser.add_argument("--threads", type=int, help="processes at work (default: all cores); changes no byte")


def main(args: argparse.Namespace) -> None:
    values: dict[str, Any] = read_mapping(args.config)
    own = {item.name: values.pop(item.name) for item in fields(SubwordsConfig) if item.name in values}
    section = build(TextSection, values, str(args.config))
    config = build(SubwordsConfig, own, str(args.config))
    text = Text(args.source, args.target, processes_of(args.threads))
    truecasers = learn_truecasers(text) if section.text.truecase else None
    learnt = learn_sides(text.count(WordsOfChunk(truecasers)), config)
    save_all(args.out, section, learnt, truecasers)
