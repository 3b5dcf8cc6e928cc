"""The slow truth about a training: one sentence at a time, Adam and the schedule written out.

Nothing is random: no dropout, and objectives that hide all tokens or none.
"""

import math
from collections.abc import Iterator
from itertools import count
from typing import Any

import torch

from axenat.data.batches import collate
from tests.reference.batches import whole_plan

Sums = dict[str, float]


def slow_training(model, objective, config, train, valid, seed: int) -> list[dict[str, Any]]:
    """The lines of the history; the model is trained."""
    weights = list(model.parameters())
    first, second = ([torch.zeros_like(one) for one in weights] for _ in range(2))
    lines: list[dict[str, Any]] = []
    window: list[Sums] = []
    for step, (epoch, batches, ends) in enumerate(groups(train, config, seed), start=1):
        sums, gradients = sums_and_gradients(model, objective, train, batches)
        gradients = [one / sums["count"] for one in gradients]
        norm = math.sqrt(sum(float(one.square().sum()) for one in gradients))
        gradients = [one * min(1.0, config.clip_norm / norm) for one in gradients]
        lr = rate(step, config)
        with torch.no_grad():
            for weight, gradient, one, two in zip(weights, gradients, first, second, strict=True):
                adam(weight, gradient, one, two, step, lr, config)
        window.append({**sums, "grad_norm": norm})
        if step % config.log_every == 0 or step == config.steps:
            line = {"kind": "train", "step": step, "epoch": epoch, "lr": lr, **averages(window), "skipped_steps": 0}
            line["grad_norm"] = sum(sums["grad_norm"] for sums in window) / len(window)
            line["padding"] = 1 - sum(sums["real"] for sums in window) / sum(sums["places"] for sums in window)
            lines.append(line)
            window = []
        due = step % config.validate_every == 0 if config.validate_every else ends
        if due or step == config.steps:
            every_sentence = [[i] for i in range(len(valid))]
            sums, _ = sums_and_gradients(model, objective, valid, every_sentence)
            lines.append({"kind": "valid", "step": step, "epoch": epoch + ends, **averages([sums])})
        if step == config.steps:
            return lines
    raise AssertionError


def groups(corpus, config, seed: int) -> Iterator[tuple[int, list[list[int]], bool]]:
    """Epoch, micro-batches and end of epoch of each step."""
    number = math.ceil(config.tokens_per_step / config.tokens_per_batch)
    lengths = list(corpus.source_lengths), list(corpus.target_lengths)
    for epoch in count():
        plan = whole_plan(*lengths, config.tokens_per_step // number, seed=seed, epoch=epoch)
        starts = range(0, len(plan), number)
        for start in starts:
            yield epoch, plan[start : start + number], start == starts[-1]


def sums_and_gradients(model, objective, corpus, batches: list[list[int]]) -> tuple[Sums, list[torch.Tensor]]:
    sums: Sums = {"real": 0.0, "places": 0.0}
    model.zero_grad()
    for batch in batches:
        sources, targets = (
            [int(lengths[i]) for i in batch] for lengths in (corpus.source_lengths, corpus.target_lengths)
        )
        sums["real"] += sum(sources) + sum(targets)
        sums["places"] += len(batch) * (max(sources) + max(targets))
        for i in batch:
            one = collate(corpus, [i])
            canvas = objective.canvas(one, torch.Generator())
            output = model(one.source, one.source_lengths, canvas.ids, canvas.lengths, objective.causal)
            loss = objective.score(output, one, canvas)
            loss.total.backward()
            for name, value in loss.detached().items():
                sums[name] = sums.get(name, 0.0) + value
    return sums, [weight.grad.clone() for weight in model.parameters()]


def averages(window: list[Sums]) -> dict[str, float]:
    total = {name: sum(sums[name] for sums in window) for name in window[0]}
    result = {"loss": total["total"] / total["count"], "token_loss": total["token_loss"] / total["count"]}
    if "length_loss" in total:
        result["length_loss"] = total["length_loss"] / total["count"]
    if "skip_targets" in total:
        result["skip_target_rate"] = total["skip_targets"] / total["targets"]
        result["skip_prediction_rate"] = total["skip_predictions"] / total["predictions"]
    return result


def rate(step: int, config) -> float:
    """A straight line from 1e-7 to the peak, then the inverse square root."""
    if step < config.warmup_steps:
        return 1e-7 + (config.peak_lr - 1e-7) * step / config.warmup_steps
    return config.peak_lr * (config.warmup_steps / step) ** 0.5


def adam(weight, gradient, first, second, step: int, lr: float, config) -> None:
    """Kingma and Ba, Algorithm 1; `l2` adds the decay to the gradient, `decoupled` takes it off the weight."""
    if config.weight_decay_kind == "l2":
        gradient = gradient + config.weight_decay * weight
    else:
        weight -= lr * config.weight_decay * weight
    first += (1 - config.adam_beta1) * (gradient - first)
    second += (1 - config.adam_beta2) * (gradient.square() - second)
    mean = first / (1 - config.adam_beta1**step)
    size = (second / (1 - config.adam_beta2**step)).sqrt()
    weight -= lr * mean / (size + config.adam_eps)
