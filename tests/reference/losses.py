"""Slow truths about the loss of a whole file of ids: one sentence after the other, by the definitions."""

import torch

from axenat.data.batches import pad
from axenat.data.corpus import ParallelCorpus
from axenat.data.vocab import BLANK, BOS
from axenat.model.transformer import Transformer
from tests.reference.axe import algorithm_1
from tests.reference.skips import blank_page_log_probs, half_up, length_log_probs


@torch.inference_mode()
def left_to_right_loss(model: Transformer, source: list[int], target: list[int]) -> float:
    canvas, lengths = pad([[BOS, *target[:-1]]])
    states = model.decode(canvas, lengths, model.encode(*pad([source])), causal=True)
    log_probs = (states[0] @ model.output_matrix.T).double().log_softmax(-1)
    return -sum(float(log_probs[place, token]) for place, token in enumerate(target))


def masked_loss(model: Transformer, source: list[int], target: list[int]) -> float:
    """With nothing observed, and the length."""
    log_probs = blank_page_log_probs(model, source, len(target))
    tokens = -sum(row[token] for row, token in zip(log_probs, target, strict=True))
    return tokens - length_log_probs(model, source)[len(target)]


def axe_loss(model: Transformer, source: list[int], target: list[int], multiplier: float, delta: float) -> float:
    """With nothing observed, and the length."""
    log_probs = blank_page_log_probs(model, source, half_up(len(target) * multiplier))
    return algorithm_1(log_probs, target, BLANK, delta) - length_log_probs(model, source)[len(target)]


def loss_of_file(ids: ParallelCorpus, loss_of) -> float:
    """Per target token; `loss_of` takes source and target of one sentence."""
    pairs = [(ids.source(i).tolist(), ids.target(i).tolist()) for i in range(len(ids))]
    return sum(loss_of(*pair) for pair in pairs) / sum(len(target) for _, target in pairs)
