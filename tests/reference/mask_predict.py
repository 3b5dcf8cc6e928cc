"""Mask-Predict as its paper tells it: one sentence, one length, plain lists."""

from decimal import ROUND_HALF_UP, Decimal

import torch

from axenat.data.vocab import BLANK, MASK
from axenat.model.transformer import Transformer


def candidates_slowly(
    model: Transformer, source: list[int], banned: tuple[int, ...], *, ell: int, multiplier: float = 1.0,
    least: int = 2, iterations: int = 1, norm: str = "positions",
) -> list[tuple[float, list[int]]]:  # fmt: skip
    """Score and ids of every candidate, best first: a length that comes up twice is one candidate."""
    found = []
    for length in dict.fromkeys(lengths_slowly(model, source, ell, multiplier, least)):
        ids, log_probs = mask_predict_slowly(model, source, length, iterations, banned)
        words = sum(token != BLANK for token in ids)
        divisor = {"positions": length, "tokens": max(1, words), "sum": 1}[norm]
        found.append((sum(log_probs) / divisor, ids))
    return sorted(found, key=lambda one: -one[0])


def lengths_slowly(model: Transformer, source: list[int], ell: int, multiplier: float, least: int) -> list[int]:
    """The likeliest lengths, best first, times lambda in decimal numbers. A half goes up."""
    logits = model.encode(torch.tensor([source]), torch.tensor([len(source)])).length_logits[0].tolist()
    likeliest = sorted(range(1, len(logits)), key=lambda length: -logits[length])[:ell]
    exact = [Decimal(length) * Decimal(str(multiplier)) for length in likeliest]
    rounded = [int(length.to_integral_value(ROUND_HALF_UP)) for length in exact]
    return [min(max(length, least), model.max_positions) for length in rounded]


def mask_predict_slowly(
    model: Transformer, source: list[int], length: int, iterations: int, banned: tuple[int, ...]
) -> tuple[list[int], list[float]]:
    encoded = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    ids, log_probs = [MASK] * length, [0.0] * length
    hidden = list(range(length))
    for t in range(iterations):
        if t:
            number = max(1, length * (iterations - t) // iterations)
            hidden = sorted(range(length), key=lambda i: log_probs[i])[:number]
            hidden += [i for i in range(length) if ids[i] == BLANK and i not in hidden]
        canvas = [MASK if i in hidden else token for i, token in enumerate(ids)]
        states = model.decode(torch.tensor([canvas]), torch.tensor([length]), encoded, causal=False)
        logits = states[0] @ model.output_matrix.T
        logits[:, list(banned)] = -torch.inf
        values, tokens = logits.log_softmax(-1).max(-1)
        for i in hidden:
            ids[i], log_probs[i] = int(tokens[i]), float(values[i])
    return ids, log_probs
