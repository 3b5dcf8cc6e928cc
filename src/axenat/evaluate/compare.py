"""Two outputs for the same sources: scores, significance, lengths, repetitions, and where they differ most."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axenat.evaluate.analysis import PAPER_BOUNDS, length_buckets, repeated_tokens, repetition_rate
from axenat.evaluate.bleu import length_ratio
from axenat.evaluate.conventions import Convention, Text, conventions, in_both_forms
from axenat.evaluate.counts import Floats
from axenat.evaluate.significance import both_tests
from axenat.languages import bleu_tokeniser

SIDES = ("a", "b")


def compare_outputs(
    a: Sequence[str],
    b: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    language: str = "en",
    bounds: Sequence[int] = PAPER_BOUNDS,
    num_examples: int = 3,
    sources: Sequence[str] | None = None,
) -> dict[str, Any]:
    """All of plain text; differences are b minus a, so that what is better than a is above zero, but for TER."""
    texts = {side: in_both_forms(lines, language) for side, lines in zip(SIDES, (a, b), strict=True)}
    of_references = [in_both_forms(lines, language) for lines in references]
    found = {
        side: {each.name: each for each in conventions(text, of_references, language)} for side, text in texts.items()
    }
    tokenize = bleu_tokeniser(language)
    buckets = [length_buckets(text.plain, references, bounds=bounds, tokenize=tokenize) for text in texts.values()]
    return {
        "num_sentences": len(a),
        "num_references": len(references),
        "language": language,
        "conventions": {name: _compared(one, found["b"][name]) for name, one in found["a"].items()},
        "buckets": [_bucket(*both) for both in zip(*buckets, strict=True)],
        "repetition": {side: repetition_rate(text.words) for side, text in texts.items()},
        "length_ratio": {side: length_ratio(found[side]["sacrebleu"].counts) for side in SIDES},
        "examples": _examples(texts, references, sources, found, num_examples),
    }


def _compared(a: Convention, b: Convention) -> dict[str, Any]:
    shared = ("label", "compared", "signature")
    records = {"a": a.record(), "b": b.record()}
    scores = {side: {key: record[key] for key in ("value", "low", "high")} for side, record in records.items()}
    return {key: records["a"][key] for key in shared} | scores | both_tests(b.counts, a.counts)


def _bucket(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: a[key] for key in ("low", "high", "num_sentences")}, "a": a["bleu"], "b": b["bleu"]}


def _examples(
    texts: Mapping[str, Text],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None,
    found: Mapping[str, Mapping[str, Convention]],
    number: int,
) -> dict[str, list[dict[str, Any]]]:
    """By chrF, which tells short sentences apart where BLEU is nothing."""
    scores = {side: found[side]["chrf"].counts.sentence_scores() for side in SIDES}
    examples = {}
    for better, worse in (("b", "a"), ("a", "b")):
        examples[f"{better}_better"] = [
            {
                "line": place + 1,
                "source": sources[place] if sources else None,
                "references": [lines[place] for lines in references],
                **{side: texts[side].plain[place] for side in SIDES},
                **{f"{side}_words": marked(texts[side].words[place]) for side in SIDES},
                **{f"{side}_chrf": scores[side][place].item() for side in SIDES},
            }
            for place in furthest(scores[better] - scores[worse], number)
        ]
    return examples


def furthest(gains: Floats, number: int) -> list[int]:
    """The sentences that gain most, those that gain nothing left out; of equal ones the first."""
    order = np.argsort(-gains, kind="stable")
    return [place for place in order[:number].tolist() if gains[place] > 0]


def marked(words: str) -> list[list[Any]]:
    """Each word with whether it repeats the one before."""
    tokens = words.split()
    return [list(pair) for pair in zip(tokens, repeated_tokens(tokens), strict=True)]
