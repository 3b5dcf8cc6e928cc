"""The conditional masked language model trained with aligned cross entropy (section 3.3)."""

import torch

from axenat.config import ObjectiveConfig
from axenat.data.batches import Batch
from axenat.data.vocab import BLANK, BOS, EOS, MASK, PAD
from axenat.losses.axe import Op, axe_loss_and_alignment
from axenat.model.transformer import ModelOutput
from axenat.objectives.base import Canvas, LossSum
from axenat.objectives.masked import with_length_loss
from axenat.objectives.masking import masked_canvas


class Axe:
    causal = False
    predicts_length = True
    banned = (PAD, BOS, MASK)

    def __init__(self, config: ObjectiveConfig) -> None:
        self.config = config

    def canvas(self, batch: Batch, rng: torch.Generator) -> Canvas:
        return masked_canvas(batch, self.config.observe, rng)

    def loss(self, output: ModelOutput, batch: Batch, canvas: Canvas) -> LossSum:
        hidden_only = self.config.score == "hidden"
        losses, alignment = axe_loss_and_alignment(
            output.logits(),
            batch.target,
            prediction_lengths=canvas.lengths,
            target_lengths=batch.target_lengths,
            blank_id=BLANK,
            skip_target_penalty=self.config.skip_target_penalty,
            observed=canvas.observed if hidden_only else None,
            label_smoothing=self.config.label_smoothing,
        )
        targets, predictions = batch.target_lengths.sum(), canvas.lengths.sum()
        # The paper's diagnostics: the share of targets skipped and of predictions spent on blanks.
        parts = {
            "skip_targets": (alignment.operator == Op.SKIP_TARGET).sum(),
            "targets": targets,
            "skip_predictions": alignment.skipped_prediction.sum(),
            "predictions": predictions,
        }
        count = targets - canvas.observed.sum() if hidden_only else targets
        return with_length_loss(losses.sum(), count, output, batch, self.config, parts)

    def read_out(self, ids: list[int]) -> list[int]:
        """Only blanks (and <eos>, an ordinary token here) are removed; repeated tokens stay (section 2)."""
        return [token for token in ids if token not in (BLANK, EOS)]
