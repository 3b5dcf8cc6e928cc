"""Slow truths about left-to-right search: no cache, no batch, no early stop."""

import itertools

import torch

from axenat.data.vocab import BOS, EOS
from axenat.model.transformer import Transformer

Scored = tuple[float, list[int]]


def next_log_probs(model: Transformer, source: list[int], prefix: list[int]) -> list[float]:
    """Of the token that follows `prefix`, from the whole decoder."""
    encoded = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    canvas = torch.tensor([[BOS, *prefix]])
    states = model.decode(canvas, torch.tensor([canvas.shape[1]]), encoded, causal=True)
    return (states[0, -1] @ model.output_matrix.T).log_softmax(-1).tolist()


def log_prob(model: Transformer, source: list[int], ids: list[int]) -> float:
    return sum(next_log_probs(model, source, ids[:t])[token] for t, token in enumerate(ids))


def exhaustive(model: Transformer, source: list[int], tokens: list[int], longest: int, penalty: float) -> list[Scored]:
    """Every sentence of `tokens` that ends in time, best first."""
    found = []
    for length in range(longest):
        for words in itertools.product(tokens, repeat=length):
            ids = [*words, EOS]
            found.append((log_prob(model, source, ids) / len(ids) ** penalty, ids))
    return sorted(found, key=lambda one: -one[0])


def plain_beam(
    model: Transformer, source: list[int], tokens: list[int], longest: int, penalty: float, beam: int
) -> list[Scored]:
    """Beam search that goes on until `beam` hypotheses have ended or none is open."""
    open_: list[Scored] = [(0.0, [])]
    found: list[Scored] = []
    for length in range(1, longest + 1):
        grown = []
        for score, ids in open_:
            following = next_log_probs(model, source, ids)
            allowed = [EOS] if length == longest else [*tokens, EOS]
            grown += [(score + following[token], [*ids, token]) for token in allowed]
        grown.sort(key=lambda one: -one[0])
        ended = [(score / length**penalty, ids) for score, ids in grown[:beam] if ids[-1] == EOS]
        found += ended[: beam - len(found)]
        if len(found) >= beam:
            break
        open_ = [one for one in grown[: 2 * beam] if one[1][-1] != EOS][:beam]
    return sorted(found, key=lambda one: -one[0])
