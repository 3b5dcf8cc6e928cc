"""The conditional masked language model trained with aligned cross entropy (section 3.3)."""

import torch
from torch import nn

from axenat.data.batches import Batch
from axenat.data.vocab import BLANK, BOS, EOS, MASK, PAD
from axenat.losses.axe import AxeOptions, Op, axe_loss_and_alignment
from axenat.losses.projected import axe_from_states
from axenat.model.transformer import ModelOutput
from axenat.objectives.base import Canvas, LossSum, Step, one_pass
from axenat.objectives.masked import with_length_loss
from axenat.objectives.masking import blank_page, masked_canvas, predicted, scaled
from axenat.systems.axe.spec import AxeSettings


class Axe:
    causal = False
    predicts_length = True
    banned = (PAD, BOS, MASK)

    def __init__(self, config: AxeSettings) -> None:
        self.config = config
        self.options = AxeOptions(
            blank_id=BLANK,
            skip_target_penalty=config.skip_target_penalty,
            label_smoothing=config.label_smoothing,
            smoothing=config.smoothing,
            first_column=config.first_column,
        )

    @property
    def drops_eos(self) -> bool:
        return self.config.eos == "drop"

    def canvas_lengths(self, target_lengths: torch.Tensor) -> torch.Tensor:
        return scaled(target_lengths, self.config.train_length_multiplier)

    def canvas(self, batch: Batch, rng: torch.Generator) -> Canvas:
        batch = predicted(batch, self.config.eos)
        if self.config.train_length_multiplier != 1.0:
            # Differs from the paper: it found as many predictions as targets best. Nothing is observed here.
            return blank_page(self.canvas_lengths(batch.on_cpu.target_lengths))
        return masked_canvas(batch, self.config.observe, rng, self.config.most_hidden)

    def score(self, output: ModelOutput, batch: Batch, canvas: Canvas) -> LossSum:
        batch = predicted(batch, self.config.eos)
        free = self.config.score == "hidden" and self.config.observe == "some"
        arguments = (
            batch.target, canvas.lengths, batch.target_lengths, canvas.observed if free else None, self.options,
        )  # fmt: skip
        # Values are not checked here, since a GPU would wait: the loop watches for what is not finite.
        if self.config.projection == "fused":
            total, _, alignment = axe_from_states(
                output.states, output.output_matrix, *arguments, check=False, lengths_on_cpu=canvas.on_cpu.lengths
            )
        else:
            losses, alignment = axe_loss_and_alignment(output.logits(), *arguments, check=False)
            total = losses.sum()
        targets, predictions = batch.target_lengths.sum(), canvas.lengths.sum()
        # The paper's diagnostics: the share of targets skipped and of predictions spent on blanks.
        parts = {
            "skip_targets": (alignment.operator == Op.SKIP_TARGET).sum(),
            "targets": targets,
            "skip_predictions": alignment.skipped_prediction.sum(),
            "predictions": predictions,
        }
        count = targets - canvas.observed.sum() if free else targets
        return with_length_loss(total, count, output, batch, self.config, parts)

    def loss(self, model: nn.Module, batch: Batch, step: Step) -> LossSum:
        return one_pass(self, model, batch, step)

    def read_out(self, ids: list[int]) -> list[int]:
        """Only blanks (and <eos>, an ordinary token here) are removed; repeated tokens stay (section 2)."""
        return [token for token in ids if token not in (BLANK, EOS)]
