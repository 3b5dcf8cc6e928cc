"""The conditional masked language model trained with aligned cross entropy, as data."""

from dataclasses import dataclass

from axenat.records import ConfigError, at_least, one_of
from axenat.systems.shared.decodings import LENGTH_CANDIDATES, length_head_parameters
from axenat.systems.shared.settings import check_masking, check_token_loss
from axenat.systems.spec import System


@dataclass(frozen=True, kw_only=True, slots=True)
class AxeSettings:
    name: str
    label_smoothing: float = 0.1
    # delta, Table 1.
    skip_target_penalty: float = 1.0
    # Section 3.3: does the decoder see some target tokens in training?
    observe: str = "some"
    # Section 3.3: are only the hidden ones scored?
    score: str = "hidden"
    # Of the AXE table: as Algorithm 1 has it, or strict.
    first_column: str = "paper"
    length_loss_weight: float = 1.0
    # Into the loss, so that logits are never held all at once, or plain.
    projection: str = "fused"
    # Of the minimum that AXE takes, or inside, in every cost.
    smoothing: str = "outside"
    # The loss is divided by the number of these.
    normalise: str = "tokens"
    # An ordinary token of the target, or drop it.
    eos: str = "keep"
    # Predictions per target token. Section 3.2 has lambda for decoding.
    train_length_multiplier: float = 1.0
    # How many tokens may be hidden at most.
    most_hidden: str = "all"

    def __post_init__(self) -> None:
        check_token_loss(self)
        check_masking(self)
        one_of("objective.first_column", self.first_column, ("paper", "strict"))
        at_least("objective.skip_target_penalty", self.skip_target_penalty, 1.0)
        one_of("objective.smoothing", self.smoothing, ("outside", "inside"))
        at_least("objective.train_length_multiplier", self.train_length_multiplier, 0.5)
        if self.train_length_multiplier != 1.0 and self.observe != "none":
            raise ConfigError(
                "objective.train_length_multiplier must be 1 unless observe is none: otherwise each target token needs "
                f"a place of its own, got {self.train_length_multiplier} with observe {self.observe}"
            )


SPEC = System(
    name="axe",
    label="AXE",
    colours=("red", "amber", "purple", "brown", "soft"),
    paper_rows={"raw": "axe", "distilled": "axe"},
    settings=AxeSettings,
    decoding=LENGTH_CANDIDATES,
    num_own_parameters=length_head_parameters,
    engines={"onnx": ("onnx", "onnxruntime")},
    diagnostics=("confidence", "alignment"),
    code="axenat.objectives.axe:Axe",
)
