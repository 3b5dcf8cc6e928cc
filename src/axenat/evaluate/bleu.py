"""Corpus BLEU with its signature and interval (sacrebleu's)."""

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from axenat.evaluate.counts import NUM_SAMPLES, SEED, Counts, count
from axenat.files import UserError


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    num_bootstrap: int = NUM_SAMPLES,
    seed: int = SEED,
) -> dict[str, Any]:
    """BLEU over one or more reference sets; `bleu_low` and `bleu_high` bound the 95 % bootstrap interval."""
    return bleu_record(bleu_counts(hypotheses, references, tokenize=tokenize), num_bootstrap=num_bootstrap, seed=seed)


def bleu_record(counts: Counts, *, num_bootstrap: int = NUM_SAMPLES, seed: int = SEED) -> dict[str, Any]:
    low, high = counts.interval(num_bootstrap, seed) if num_bootstrap else (None, None)
    return {
        "bleu": counts.score(),
        "bleu_low": low,
        "bleu_high": high,
        "signature": counts.signature,
        "num_sentences": len(counts.rows),
        "num_references": counts.metric.num_refs,
        "length_ratio": length_ratio(counts),
        "num_bootstrap": num_bootstrap,
        "bootstrap_seed": seed,
    }


def bleu_counts(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    smooth_method: str = "exp",
) -> Counts:
    """For each sentence its length, that of the closest reference, and 4 n-gram matches and totals."""
    if tokenize not in BLEU.TOKENIZERS:
        raise UserError(f"BLEU tokeniser {tokenize!r} is unknown; allowed: {', '.join(sorted(BLEU.TOKENIZERS))}")
    # force: no warning about lines that end in ` .`
    metric = BLEU(tokenize=tokenize, smooth_method=smooth_method, force=True)
    return count(metric, hypotheses, references)


def length_ratio(counts: Counts) -> float:
    """Of all hypotheses to the closest references, in the tokens of BLEU."""
    system_length, reference_length = counts.rows.sum(0)[:2].tolist()
    return float(system_length / reference_length) if reference_length else 0.0
