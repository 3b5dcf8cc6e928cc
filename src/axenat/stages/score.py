"""`axenat score`: one output of one run against its references."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from axenat.config import is_ablation
from axenat.data.held_out import words_of_references
from axenat.data.text import tokenise
from axenat.data.text_section import read_text_rules
from axenat.evaluate.analysis import accepted_share, repetition_rate
from axenat.evaluate.bleu import bleu_record
from axenat.evaluate.conventions import Text, conventions
from axenat.files import UserError, read_lines, read_mapping, read_record, write_json
from axenat.languages import bleu_tokeniser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hypothesis", required=True, help="translations, detokenised plain text")
    parser.add_argument("--tokenised", required=True, help="the same, tokenised words")
    parser.add_argument("--subwords", required=True, help="the same, subwords")
    parser.add_argument("--references", nargs="+", required=True, help="plain text, one file for each reference set")
    parser.add_argument(
        "--reference-words",
        help="tokenised text of all references, as `axenat clean` or, of several, `axenat clean_references` writes it; "
        "otherwise they are tokenised here",
    )
    parser.add_argument(
        "--text-rules", type=Path, required=True, help="text.yaml of the corpus: how its lines are words"
    )
    parser.add_argument("--accept", help="one regular expression a line: the valid translations, tokenised")
    parser.add_argument("--run-config", required=True, help="config.yaml of the run")
    parser.add_argument("--tuned", required=True, help="tuned.json of the run")
    parser.add_argument("--record", help="what decoded, as `axenat translate --record` wrote it; else it is unknown")
    parser.add_argument("--split", required=True, help="name of the split, for example test")
    parser.add_argument("--decode", required=True, help="name of the decoding, for example ell5")
    parser.add_argument("--out", required=True, help="score.json to write")
    parser.add_argument("--metrics", help="the few numbers of it that `dvc metrics show` puts side by side, as JSON")


def main(args: argparse.Namespace) -> None:
    config = read_mapping(args.run_config, "run", "corpus", "objective.name", "target_side")
    tuned = read_record(args.tuned, "key", "value")
    decoded = _read_decoded(args.record, args.decode, tuned["value"]) if args.record else {}
    section = read_text_rules(args.text_rules)
    language, rules = section.target_language, section.text
    tokenised = read_lines(args.tokenised)
    hypothesis = Text(plain=read_lines(args.hypothesis), words=tokenised)
    plain = [read_lines(path) for path in args.references]
    to_words = partial(tokenise, language=language, text=rules)
    words = words_of_references(plain, args.references, args.reference_words, to_words)
    references = [Text(plain=lines, words=tokens) for lines, tokens in zip(plain, words, strict=True)]
    found = {each.name: each for each in conventions(hypothesis, references, language, rules)}
    score = {
        "run": config["run"],
        "corpus": config["corpus"],
        "objective": config["objective"]["name"],
        "target_side": config["target_side"],
        "split": args.split,
        "decode": args.decode,
        **bleu_record(found["sacrebleu"].counts),
        "tokenize": bleu_tokeniser(language),
        "conventions": {name: each.record() for name, each in found.items()},
        "repetition": repetition_rate(read_lines(args.subwords)),
        "repetition_words": repetition_rate(tokenised),
        "valid_share": accepted_share(tokenised, read_lines(args.accept)) if args.accept else None,
        "skip_target_penalty": config["objective"].get("skip_target_penalty"),
        "ablation": is_ablation(config["objective"]),
        "length_multiplier": tuned["value"] if tuned["key"] == "length_multiplier" else None,
        "length_penalty": tuned["value"] if tuned["key"] == "length_penalty" else None,
        "engine": decoded.get("engine"),
        "precision": decoded.get("precision"),
        "seed": config.get("seed"),
        # `summarise` pairs the sentences of two systems and finds them here.
        "hypothesis": args.hypothesis,
        "subwords": args.subwords,
        "references": args.references,
    }
    write_json(args.out, score)
    if args.metrics:
        write_json(args.metrics, _side_by_side(score))


def _side_by_side(score: dict[str, Any]) -> dict[str, float]:
    """One row of a table that fits on a screen."""
    names = ("bleu", "bleu_low", "bleu_high", "repetition", "length_ratio", "length_multiplier", "length_penalty")
    others = {name: score["conventions"][name]["value"] for name in ("chrf", "ter")}
    return {**{name: score[name] for name in names if score[name] is not None}, **others}


def _read_decoded(path: str, decode: str, value: float) -> dict[str, Any]:
    """A score must not tell of another decoding than the one that made its texts."""
    decoded = read_record(path, "engine", "precision", "decode", "value")
    found, expected = (decoded["decode"], decoded["value"]), (decode, value)
    if found != expected:
        raise UserError(f"{path}: decoded as {found[0]} with {found[1]}, not as {expected[0]} with {expected[1]}")
    return decoded
