"""One-pass decoding of conditional masked models: guess lengths, fill every position at once, keep the best."""

from dataclasses import dataclass

import torch
from torch import Tensor

from axenat.model.transformer import Encoded, Transformer
from axenat.objectives.masking import blank_page, scaled

SHORTEST = 2  # a token and <eos>


def shortest(eos: str) -> int:
    """The least length that is tried; without <eos> one token, which for an empty translation is <eos> after all."""
    return SHORTEST if eos == "keep" else 1


@dataclass(frozen=True, slots=True)
class Hypothesis:
    ids: list[int]
    score: float


def length_candidates(
    length_logits: Tensor, number: int, multiplier: float, longest: int, least: int = SHORTEST
) -> Tensor:
    """(B, number): the likeliest lengths times lambda, rounded half up, best first.

    Differs from the paper: it does not say how it rounds; half up changes no short length at small lambda.
    """
    likeliest = length_logits.topk(min(number, length_logits.shape[1] - 1)).indices
    return scaled(likeliest, multiplier).clamp(least, longest)


def repeat(encoded: Encoded, times: int) -> Encoded:
    """Each sentence `times` times, side by side."""
    memory = [(k.repeat_interleave(times, 0), v.repeat_interleave(times, 0)) for k, v in encoded.memory]
    mask = None if encoded.mask is None else encoded.mask.repeat_interleave(times, 0)
    return Encoded(memory, mask, encoded.length_logits)


def parallel_decode(
    model: Transformer,
    source: Tensor,
    source_lengths: Tensor,
    *,
    num_length_candidates: int,
    length_multiplier: float,
    banned: tuple[int, ...],
    least: int = SHORTEST,
) -> list[Hypothesis]:
    """The best candidate of each sentence by mean log-probability over all its positions.

    Differs from the paper: it says nothing of padding, masks and the like; here they are never produced.
    """
    encoded = model.encode(source, source_lengths)
    assert encoded.length_logits is not None
    lengths = length_candidates(
        encoded.length_logits, num_length_candidates, length_multiplier, model.max_positions, least
    )
    B, ell = lengths.shape
    canvas = blank_page(lengths.flatten())
    states = model.decode(canvas.ids, canvas.lengths, repeat(encoded, ell), causal=False)
    logits = (states @ model.output_matrix.T).float()
    log_norm = logits.logsumexp(-1)
    logits[:, :, list(banned)] = -torch.inf
    best, ids = logits.max(-1)
    inside = torch.arange(ids.shape[1], device=ids.device) < canvas.lengths[:, None]
    scores = ((best - log_norm) * inside).sum(1) / canvas.lengths
    winner = scores.view(B, ell).argmax(1) + torch.arange(B, device=ids.device) * ell
    return [
        Hypothesis(row[:length].tolist(), float(score))
        for row, length, score in zip(
            ids[winner].cpu(), canvas.lengths[winner].cpu(), scores[winner].cpu(), strict=True
        )
    ]
