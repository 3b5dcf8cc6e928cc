"""`axenat analyse`: what section 5 of the paper looks at, for one run and split."""

import argparse
from pathlib import Path
from typing import Any

from axenat.corpus_config import AnalysisConfig
from axenat.data.held_out import words_of
from axenat.decode.inspect import describe_alignment, generated_probabilities, num_operators, skip_rates
from axenat.decode.translator import Translator
from axenat.evaluate.analysis import length_buckets, position_confidence
from axenat.files import read_lines, read_parallel, read_yaml, write_json
from axenat.languages import bleu_tokeniser
from axenat.records import build
from axenat.train.devices import device_of, use_threads

MOST_SENTENCES = 200  # more do not move the averages of Figure 3
DRAWABLE = range(7, 15)  # target tokens of a pair that fits on a page
MOST_ALIGNED, NUM_ALIGNMENTS = 60, 6  # pairs looked at, and those of them that are shown
NUM_EXAMPLES = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="how sentences are sorted by length (YAML)")
    parser.add_argument("--model", type=Path, required=True, help="folder of the run")
    parser.add_argument("--source", type=Path, required=True, help="plain source text")
    parser.add_argument("--references", type=Path, nargs="+", required=True, help="plain references")
    for side, text in (("source", "source text"), ("target", "first of the references")):
        words = f"the {text}, tokenised by `axenat clean`; otherwise it is tokenised here"
        parser.add_argument(f"--{side}-words", type=Path, metavar="FILE", help=words)
    parser.add_argument("--hypothesis", type=Path, required=True, help="translations, plain text")
    parser.add_argument("--split", required=True)
    parser.add_argument("--out", type=Path, required=True, help="analysis.json to write")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")


def main(args: argparse.Namespace) -> None:
    use_threads(args.threads)
    config = build(AnalysisConfig, read_yaml(args.config), str(args.config))
    translator = Translator(args.model, device_of(args.device))
    sources, _ = read_parallel(args.source, args.references[0])
    hypotheses, _ = read_parallel(args.hypothesis, args.references[0])
    references = [read_lines(path) for path in args.references]
    rows = list(zip(sources, references[0], hypotheses, strict=True))
    tokenize = bleu_tokeniser(translator.target.language)
    analysis: dict[str, Any] = {
        "run": translator.folder.name,
        "split": args.split,
        "buckets": length_buckets(hypotheses, references, bounds=config.length_bounds, tokenize=tokenize),
        "confidence": None,
        "skip_target_rate": None,
        "skip_prediction_rate": None,
        "examples": [
            {"source": source, "reference": reference, "hypothesis": hypothesis}
            for source, reference, hypothesis in rows[:NUM_EXAMPLES]
        ],
        "alignments": [],
    }
    if "confidence" in translator.system.diagnostics:
        words = words_of(sources, args.source, args.source_words, translator.source.tokenise)
        targets = words_of(references[0], args.references[0], args.target_words, translator.target.tokenise)
        analysis["confidence"] = _confidence(translator, words, targets, config)
        if "alignment" in translator.system.diagnostics:
            analysis |= skip_rates(translator, words, targets)
            analysis["alignments"] = _alignments(translator, words, targets)
    write_json(args.out, analysis)


def _confidence(translator: Translator, words: list[str], targets: list[str], config: AnalysisConfig) -> dict[str, Any]:
    lengths = [len(translator.encode_target(line)) for line in targets]
    groups = {
        "short": [line for line, length in zip(words, lengths, strict=True) if length < config.short_below],
        "long": [line for line, length in zip(words, lengths, strict=True) if length > config.long_above],
    }
    return {
        name: position_confidence([generated_probabilities(translator, line) for line in lines[:MOST_SENTENCES]])
        for name, lines in groups.items()
    }


def _alignments(translator: Translator, words: list[str], targets: list[str]) -> list[dict[str, Any]]:
    """Short pairs, those first in which AXE uses all three operators, as Figure 2 does; else the first pair."""
    pairs = list(zip(words, targets, strict=True))
    short = [pair for pair in pairs if len(translator.encode_target(pair[1])) in DRAWABLE]
    described = [describe_alignment(translator, *pair) for pair in (short or pairs[:1])[:MOST_ALIGNED]]
    return sorted(described, key=num_operators, reverse=True)[:NUM_ALIGNMENTS]
