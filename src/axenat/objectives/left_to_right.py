"""The teacher's objective: every next token from all before it."""

import torch
from torch import nn

from axenat.data.batches import Batch
from axenat.data.vocab import BLANK, BOS, EOS, MASK, PAD
from axenat.losses.rows import within
from axenat.model.transformer import ModelOutput
from axenat.objectives.base import Canvas, LossSum, Step, count_of, cross_entropy_of, one_pass
from axenat.systems.left_to_right.spec import LeftToRightSettings


class LeftToRight:
    causal = True
    predicts_length = False
    drops_eos = False
    banned = (PAD, BOS, MASK, BLANK)

    def __init__(self, config: LeftToRightSettings) -> None:
        self.config = config

    def canvas_lengths(self, target_lengths: torch.Tensor) -> torch.Tensor:
        return target_lengths

    def canvas(self, batch: Batch, rng: torch.Generator) -> Canvas:
        batch = batch.on_cpu
        start = torch.full_like(batch.target[:, :1], BOS)
        ids = torch.cat([start, batch.target[:, :-1]], dim=1)
        return Canvas(ids, batch.target_lengths, within(batch.target_lengths, ids.shape[1]))

    def score(self, output: ModelOutput, batch: Batch, canvas: Canvas) -> LossSum:
        scored = within(canvas.on_cpu.lengths, canvas.ids.shape[1])
        total, num_tokens = cross_entropy_of(output, scored, batch.target, self.config)
        return LossSum(total, count_of(num_tokens, batch, self.config), {"token_loss": total.detach()})

    def loss(self, model: nn.Module, batch: Batch, step: Step) -> LossSum:
        return one_pass(self, model, batch, step)

    def read_out(self, ids: list[int]) -> list[int]:
        """Up to the first <eos>."""
        return ids[: ids.index(EOS)] if EOS in ids else ids
