"""`axenat tune`: a run's length multiplier (or the teacher's length penalty), chosen on valid."""

import argparse
from pathlib import Path

from axenat.data.held_out import words_of
from axenat.decode.inspect import skip_rates
from axenat.decode.translator import Translator
from axenat.evaluate.bleu import bleu
from axenat.evaluate.choose import RULE, choose_best
from axenat.files import read_lines, read_parallel, write_json
from axenat.languages import bleu_tokeniser
from axenat.progress import progress
from axenat.train.devices import device_of, use_threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True, help="folder of the run")
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--source", type=Path, help="plain source text of valid")
    given.add_argument("--source-words", type=Path, metavar="FILE", help="the same, tokenised by `axenat clean`")
    parser.add_argument("--references", type=Path, nargs="+", required=True, help="plain references of valid")
    parser.add_argument(
        "--target-words", type=Path, metavar="FILE", help="the first of them, tokenised by `axenat clean`"
    )
    parser.add_argument("--out", type=Path, required=True, help="tuned.json to write")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")


def main(args: argparse.Namespace) -> None:
    use_threads(args.threads)
    translator = Translator(args.model, device_of(args.device))
    sources, _ = read_parallel(args.source_words or args.source, args.references[0])
    words = sources if args.source_words else translator.tokenise(sources)
    references = [read_lines(path) for path in args.references]
    tokenize = bleu_tokeniser(translator.target.language)
    candidates = []
    for value in progress(translator.grid, total=len(translator.grid), desc="tune"):
        hypotheses = [one.text for one in translator.translate_words(words, value)]
        score = bleu(hypotheses, references, tokenize=tokenize, num_bootstrap=0)
        candidates.append({"value": value, "bleu": score["bleu"]})
    best = choose_best(candidates, "value")
    result = {
        "run": translator.folder.name, "key": translator.tuned_key, "value": best["value"], "rule": RULE,
        "split": "valid", "bleu": best["bleu"], "signature": score["signature"], "candidates": candidates,
    }  # fmt: skip
    if "alignment" in translator.system.diagnostics:
        targets = words_of(references[0], args.references[0], args.target_words, translator.target.tokenise)
        result |= skip_rates(translator, words, targets)
    write_json(args.out, result)
