"""Corpus BLEU with its signature and interval, and the paired test between two systems (both sacrebleu's)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from axenat.files import UserError

# sacrebleu's own default seed, so that `sacrebleu --paired-bs` draws the same samples.
BOOTSTRAP_SEED = 12345

# One row a sentence: system length, closest reference length, 4 n-gram matches, 4 n-gram totals.
Statistics = NDArray[np.int64]


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    num_bootstrap: int = 1000,
    seed: int = BOOTSTRAP_SEED,
) -> dict[str, Any]:
    """BLEU over one or more reference sets; `bleu_low` and `bleu_high` bound the 95 % bootstrap interval."""
    statistics, signature = sentence_statistics(hypotheses, references, tokenize=tokenize)
    system_length, reference_length = statistics.sum(0)[:2].tolist()
    score = _score(statistics.sum(0))
    low = high = None
    if num_bootstrap:
        samples = np.sort(_resampled_scores(statistics, _samples(len(hypotheses), num_bootstrap, seed)))
        tail = num_bootstrap // 40
        # On a handful of sentences the score of the whole set can fall outside its own resamples.
        low, high = min(score, samples[tail].item()), max(score, samples[-1 - tail].item())
    return {
        "bleu": score,
        "bleu_low": low,
        "bleu_high": high,
        "signature": signature,
        "num_sentences": len(hypotheses),
        "num_references": len(references),
        "length_ratio": system_length / reference_length if reference_length else 0.0,
        "num_bootstrap": num_bootstrap,
        "bootstrap_seed": seed,
    }


def paired_bootstrap(
    hypotheses_a: Sequence[str],
    hypotheses_b: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    num_samples: int = 1000,
    seed: int = BOOTSTRAP_SEED,
) -> dict[str, Any]:
    """Is A's BLEU really different from B's? Koehn (2004), with the shifted two-sided statistic of sacrebleu.

    Samples as far out as the measured difference count against it, so a system does not differ from itself
    (sacrebleu leaves them out and reports p = 0.001 there); otherwise the p-values are equal.
    """
    a, _ = sentence_statistics(hypotheses_a, references, tokenize=tokenize)
    b, _ = sentence_statistics(hypotheses_b, references, tokenize=tokenize)
    difference = _score(a.sum(0)) - _score(b.sum(0))
    samples = _samples(len(a), num_samples, seed)
    distances = np.abs(_resampled_scores(a, samples) - _resampled_scores(b, samples))
    num_beyond = int(np.sum(distances - distances.mean() >= abs(difference)))
    return {
        "difference": difference,
        "p_value": (num_beyond + 1) / (num_samples + 1),
        "num_samples": num_samples,
        "test": "paired bootstrap",
    }


def sentence_statistics(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: str = "13a"
) -> tuple[Statistics, str]:
    """All that BLEU needs to know of each sentence, and the signature of how it was counted."""
    check_scorable(hypotheses, references)
    if tokenize not in BLEU.TOKENIZERS:
        raise UserError(f"BLEU tokeniser {tokenize!r} is unknown; allowed: {', '.join(sorted(BLEU.TOKENIZERS))}")
    metric = BLEU(tokenize=tokenize, force=True)  # force: no warning about lines that end in ` .`
    rows = []
    for hypothesis, *of_sentence in zip(hypotheses, *references, strict=True):
        counted = metric.corpus_score([hypothesis], [[reference] for reference in of_sentence])
        rows.append([counted.sys_len, counted.ref_len, *counted.counts, *counted.totals])
    return np.array(rows, dtype=np.int64), str(metric.get_signature())


def check_scorable(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse what would give a number that means nothing."""
    if not references:
        raise UserError("BLEU needs at least one reference set, got none")
    if not hypotheses:
        raise UserError("the test set is empty; BLEU needs at least one sentence")
    for number, reference in enumerate(references):
        if len(reference) != len(hypotheses):
            raise UserError(
                f"{len(hypotheses)} hypotheses but {len(reference)} lines in reference set {number}; "
                "BLEU needs the same number"
            )
    for number, line in enumerate(hypotheses, start=1):
        if "@@ " in line or line.endswith("@@"):
            raise UserError(f"hypothesis line {number} holds subword marks (`@@ `); join the subwords before scoring")


def _score(total: Statistics) -> float:
    system_length, reference_length, *counts = total.tolist()
    scored = BLEU.compute_bleu(counts[:4], counts[4:], system_length, reference_length, smooth_method="exp")
    # exp(log(100)) is 100 and a few units in the last place.
    return min(100.0, float(scored.score))


def _samples(num_sentences: int, num_samples: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).choice(num_sentences, size=(num_samples, num_sentences), replace=True)


def _resampled_scores(statistics: Statistics, samples: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array([_score(statistics[sample].sum(0)) for sample in samples])
