"""BLEU by length as compare-mt defines it, slowly: a sentence is in the bucket of the first cutoff above its reference.

compare-mt 0.2.10 itself was run beside `length_buckets` on 1,000 sentences, with two sets of cutoffs: all four decimals
that it prints were equal, but for a bucket that had outputs of fewer than four words. There it counts one n-gram that
does not exist for each order that they lack, and was 0.02 lower; sacrebleu counts none.
"""

import math
from collections import Counter


def bucket_of(reference: str, cutoffs: list[int]) -> int:
    for place, cutoff in enumerate(cutoffs):
        if len(reference.split()) < cutoff:
            return place
    return len(cutoffs)


def bleu(hypotheses: list[str], references: list[str]) -> float:
    """One reference, no smoothing; of outputs that have at least four words, some four of them right."""
    log_precision = 0.0
    for n in range(1, 5):
        matches = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            found, right = (Counter(_ngrams(line.split(), n)) for line in (hypothesis, reference))
            matches += (found & right).total()
            total += found.total()
        log_precision += math.log(matches / total) / 4
    length, wanted = (sum(len(line.split()) for line in lines) for lines in (hypotheses, references))
    return 100 * min(1, math.exp(1 - wanted / length)) * math.exp(log_precision)


def _ngrams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]
