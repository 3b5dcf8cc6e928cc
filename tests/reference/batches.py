"""Slow truths about batches: the whole plan at once, cut sentence by sentence, and padding word by word."""

import numpy as np

from axenat.data.vocab import PAD


def whole_plan(source, target, tokens: int, *, seed: int, epoch: int, shuffle: bool = True) -> list[list[int]]:
    """The plan of a corpus that is one pool; published numbers hang on its random draws and their order."""
    if len(source) == 0:
        return []
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(source)).tolist() if shuffle else list(range(len(source)))

    def likeness(i: int) -> tuple[int, int]:
        width, lead = max(source[i], target[i]), int(target[i]) - int(source[i])
        return int(width), lead if width % 2 == 0 else -lead

    batches: list[list[int]] = [[]]
    for i in sorted(order, key=likeness):
        longest = max(max(source[j], target[j]) for j in [*batches[-1], i])
        if batches[-1] and longest * (len(batches[-1]) + 1) > tokens:
            batches.append([])
        batches[-1].append(i)
    return [batches[i] for i in rng.permutation(len(batches))] if shuffle else batches


def padded(sentences: list[list[int]]) -> list[list[int]]:
    longest = max(map(len, sentences), default=0)
    return [sentence + [PAD] * (longest - len(sentence)) for sentence in sentences]
