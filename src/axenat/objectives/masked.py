"""The conditional masked language model trained with cross entropy (section 3.1): position by position."""

import torch
from torch import nn

from axenat.data.batches import Batch
from axenat.data.vocab import BLANK, BOS, EOS, MASK, PAD
from axenat.losses.length import length_loss
from axenat.losses.rows import within
from axenat.model.transformer import ModelOutput
from axenat.objectives.base import Canvas, LengthLossSettings, LossSum, Step, count_of, cross_entropy_of, one_pass
from axenat.objectives.masking import masked_canvas, predicted
from axenat.systems.masked.spec import MaskedSettings


class Masked:
    causal = False
    predicts_length = True
    banned = (PAD, BOS, MASK, BLANK)

    def __init__(self, config: MaskedSettings) -> None:
        self.config = config

    @property
    def drops_eos(self) -> bool:
        return self.config.eos == "drop"

    def canvas_lengths(self, target_lengths: torch.Tensor) -> torch.Tensor:
        return target_lengths

    def canvas(self, batch: Batch, rng: torch.Generator) -> Canvas:
        return masked_canvas(predicted(batch, self.config.eos), self.config.observe, rng, self.config.most_hidden)

    def score(self, output: ModelOutput, batch: Batch, canvas: Canvas) -> LossSum:
        batch = predicted(batch, self.config.eos)
        scored = within(canvas.on_cpu.lengths, canvas.ids.shape[1])
        if self.config.score == "hidden":
            scored = scored & ~canvas.on_cpu.observed
        tokens, num_tokens = cross_entropy_of(output, scored, batch.target, self.config)
        return with_length_loss(tokens, num_tokens, output, batch, self.config, {})

    def loss(self, model: nn.Module, batch: Batch, step: Step) -> LossSum:
        return one_pass(self, model, batch, step)

    def read_out(self, ids: list[int]) -> list[int]:
        """<eos> is an ordinary token of a masked model and is dropped wherever it stands."""
        return [token for token in ids if token != EOS]


def with_length_loss(
    tokens: torch.Tensor,
    num_tokens: torch.Tensor,
    output: ModelOutput,
    batch: Batch,
    config: LengthLossSettings,
    parts: dict[str, torch.Tensor],
) -> LossSum:
    """Token and length loss in one sum over one count of tokens: per sentence, lengths would dominate."""
    assert output.length_logits is not None
    lengths = length_loss(output.length_logits, batch.target_lengths).sum()
    total = tokens + config.length_loss_weight * lengths
    count = count_of(num_tokens, batch, config)
    return LossSum(total, count, {"token_loss": tokens.detach(), "length_loss": lengths.detach(), **parts})
