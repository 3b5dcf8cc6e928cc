"""Slow truths about left-to-right search: no cache, no batch, no early stop."""

import torch

from axenat.data.vocab import BOS, EOS
from axenat.model.transformer import Transformer

Scored = tuple[float, list[int]]


def next_log_probs(model: Transformer, source: list[int], prefix: list[int], tokens: list[int]) -> dict[int, float]:
    """Of the token that follows `prefix`, from the whole decoder; nothing but `tokens` and <eos> has a probability."""
    encoded = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    canvas = torch.tensor([[BOS, *prefix]])
    states = model.decode(canvas, torch.tensor([canvas.shape[1]]), encoded, causal=True)
    allowed = [*tokens, EOS]
    log_probs = (states[0, -1] @ model.output_matrix.T)[allowed].log_softmax(-1)
    return dict(zip(allowed, log_probs.tolist(), strict=True))


def exhaustive(model: Transformer, source: list[int], tokens: list[int], longest: int, penalty: float) -> list[Scored]:
    """Every sentence of `tokens` that ends in time or is cut there, best first."""
    open_: list[Scored] = [(0.0, [])]
    found: list[Scored] = []
    for length in range(1, longest + 1):
        grown = [
            (score + value, [*ids, token])
            for score, ids in open_
            for token, value in next_log_probs(model, source, ids, tokens).items()
        ]
        open_ = [(score, ids) for score, ids in grown if ids[-1] != EOS]
        ended = grown if length == longest else [(score, ids) for score, ids in grown if ids[-1] == EOS]
        found += [(score / length**penalty, ids) for score, ids in ended]
    return sorted(found, key=lambda one: -one[0])


def plain_beam(
    model: Transformer, source: list[int], tokens: list[int], longest: int, penalty: float, beam: int
) -> list[Scored]:
    """Beam search that goes on until `beam` hypotheses have ended; without a penalty until none can be open."""
    open_: list[Scored] = [(0.0, [])]
    found: list[Scored] = []
    for length in range(1, longest + 1):
        grown = []
        for score, ids in open_:
            following = next_log_probs(model, source, ids, tokens)
            grown += [(score + value, [*ids, token]) for token, value in following.items()]
        grown.sort(key=lambda one: -one[0])
        last = length == longest
        found += [(score / length**penalty, ids) for score, ids in grown[:beam] if last or ids[-1] == EOS]
        if last or (len(found) >= beam and penalty):
            break
        open_ = [one for one in grown[: 2 * beam] if one[1][-1] != EOS][:beam]
    return sorted(found, key=lambda one: -one[0])
