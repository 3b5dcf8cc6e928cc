"""Mask-Predict as its paper tells it: one sentence, one length, plain lists."""

import torch

from axenat.data.vocab import BLANK, MASK
from axenat.model.transformer import Transformer


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
