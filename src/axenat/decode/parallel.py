"""Decoding of conditional masked models: guess lengths, fill every position at once, keep the best."""

import torch
from torch import Tensor

from axenat.data.vocab import BLANK, MASK
from axenat.decode.hypothesis import Hypothesis
from axenat.decode.passes import Passes, Sources
from axenat.losses.rows import within
from axenat.objectives.masking import blank_page, scaled

SHORTEST = 2  # a token and <eos>


def shortest(drops_eos: bool) -> int:
    """The least length that is tried; without <eos> one token, which for an empty translation is <eos> after all."""
    return 1 if drops_eos else SHORTEST


def length_candidates(
    length_logits: Tensor, number: int, multiplier: float, longest: int, least: int = SHORTEST
) -> Tensor:
    """(B, number): the likeliest lengths times lambda, rounded half up, best first.

    Differs from the paper: it does not say how it rounds; half up changes no short length at small lambda.
    """
    likeliest = length_logits.topk(min(number, length_logits.shape[1] - 1)).indices
    return scaled(likeliest, multiplier).clamp(least, longest)


def parallel_decode(
    passes: Passes,
    source: Tensor,
    source_lengths: Tensor,
    *,
    num_length_candidates: int,
    length_multiplier: float,
    least: int = SHORTEST,
    rank_norm: str = "positions",
    iterations: int = 1,
) -> list[list[Hypothesis]]:
    """The candidates of each sentence, one a length, best first."""
    sources = passes.read(source, source_lengths)
    lengths = length_candidates(
        sources.length_logits, num_length_candidates, length_multiplier, passes.max_positions, least
    )
    rows = lengths.flatten()
    ids, log_probs = mask_predict(passes, rows, sources, iterations)
    scores = log_probs.sum(1) / _norm(rank_norm, ids, rows)
    # Multiplied and clamped, two lengths may have become one.
    again = (lengths[:, :, None] == lengths[:, None, :]).tril(-1).any(2)
    scores = scores.view(lengths.shape).masked_fill(again, -torch.inf)
    order = scores.argsort(dim=1, descending=True, stable=True).tolist()
    B, ell = lengths.shape
    tokens, sizes, values = ids.view(B, ell, -1).tolist(), lengths.tolist(), scores.tolist()
    return [
        [Hypothesis(tokens[b][i][: sizes[b][i]], values[b][i]) for i in order[b] if values[b][i] > -torch.inf]
        for b in range(B)
    ]


def _norm(rank_norm: str, ids: Tensor, lengths: Tensor) -> Tensor:
    """What a candidate's log-probability is divided by."""
    if rank_norm == "positions":
        return lengths
    if rank_norm == "tokens":
        return (within(lengths, ids.shape[1]) & (ids != BLANK)).sum(1).clamp(min=1)
    return torch.ones_like(lengths)


def mask_predict(passes: Passes, lengths: Tensor, sources: Sources, iterations: int) -> tuple[Tensor, Tensor]:
    """Tokens and log-probabilities after so many passes, each of which predicts the least certain tokens again.

    After the first of T passes, pass t hides n * (T - t) / T of n tokens, rounded down, and at least one; those that
    stay keep the probability they had. A blank is never shown: no decoder input of the training held one.
    """
    canvas = blank_page(lengths).ids
    ids, log_probs = passes.fill(canvas, lengths, sources)
    inside = within(lengths, canvas.shape[1])
    for t in range(1, iterations):
        number = (lengths * (iterations - t) // iterations).clamp(min=1)
        rank = log_probs.masked_fill(~inside, torch.inf).argsort(dim=1, stable=True).argsort(dim=1)
        hidden = inside & ((rank < number[:, None]) | (ids == BLANK))
        new_ids, new_log_probs = passes.fill(ids.masked_fill(hidden, MASK), lengths, sources)
        ids = torch.where(hidden, new_ids, ids)
        log_probs = torch.where(hidden, new_log_probs, log_probs)
    return ids, log_probs
