"""The two passes of a conditional masked model, read and fill: all that an engine must do faster than torch.

What may never come out (padding, masks and the like) has no probability: it is left out before the softmax.
Differs from the paper: it says nothing of them.
"""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from axenat.data.vocab import PAD
from axenat.losses.rows import within
from axenat.model.transformer import Encoded, Transformer

LOGITS_AT_ONCE = 1 << 24  # 64 MB; all positions of a batch beside a large vocabulary would be gigabytes


class Sources(NamedTuple):
    """A batch that was read."""

    memory: Any  # the engine's own
    length_logits: Tensor  # (B, max_positions + 1), class = number of target tokens


class Passes(Protocol):
    max_positions: int

    def read(self, source: Tensor, source_lengths: Tensor) -> Sources: ...

    def fill(self, canvas: Tensor, lengths: Tensor, sources: Sources) -> tuple[Tensor, Tensor]:
        """The likeliest token at every position (B*c m) and its log-probability; PAD and 0 beyond the lengths.

        Each sentence has c canvases, side by side.
        """


def allowed_ids(size: int, banned: tuple[int, ...]) -> Tensor:
    return torch.tensor([token for token in range(size) if token not in banned])


class TorchPasses:
    def __init__(self, model: Transformer, banned: tuple[int, ...]) -> None:
        self.model, self.max_positions = model, model.max_positions
        self.allowed = allowed_ids(len(model.output_matrix), banned).to(model.output_matrix.device)
        self.matrix = model.output_matrix[self.allowed]

    def read(self, source: Tensor, source_lengths: Tensor) -> Sources:
        encoded = self.model.encode(source, source_lengths)
        assert encoded.length_logits is not None
        return Sources(encoded, encoded.length_logits)

    def fill(self, canvas: Tensor, lengths: Tensor, sources: Sources) -> tuple[Tensor, Tensor]:
        copies = len(canvas) // len(sources.length_logits)
        states = self.model.decode(canvas, lengths, repeat(sources.memory, copies), causal=False)
        inside = within(lengths, canvas.shape[1])
        ids = torch.full_like(canvas, PAD)
        log_probs = torch.zeros(canvas.shape, device=canvas.device)
        found = [self._best(part) for part in states[inside].split(max(1, LOGITS_AT_ONCE // len(self.matrix)))]
        ids[inside] = torch.cat([token for token, _ in found])
        log_probs[inside] = torch.cat([value for _, value in found])
        return ids, log_probs

    def _best(self, states: Tensor) -> tuple[Tensor, Tensor]:
        logits = (states @ self.matrix.T).float()
        best, place = logits.max(-1)
        return self.allowed[place], best - logits.logsumexp(-1)


def repeat(encoded: Encoded, times: int) -> Encoded:
    """Each sentence `times` times, side by side."""
    if times == 1:
        return encoded
    memory = [(k.repeat_interleave(times, 0), v.repeat_interleave(times, 0)) for k, v in encoded.memory]
    mask = None if encoded.mask is None else encoded.mask.repeat_interleave(times, 0)
    return Encoded(memory, mask, encoded.length_logits)
