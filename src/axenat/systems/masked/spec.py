"""The conditional masked language model trained with cross entropy, as data."""

from dataclasses import dataclass

from axenat.systems.shared.decodings import LENGTH_CANDIDATES, length_head_parameters
from axenat.systems.shared.settings import check_masking, check_token_loss
from axenat.systems.spec import System


@dataclass(frozen=True, kw_only=True, slots=True)
class MaskedSettings:
    name: str
    label_smoothing: float = 0.1
    # Section 3.3: does the decoder see some target tokens in training?
    observe: str = "some"
    # Section 3.3: are only the hidden ones scored?
    score: str = "hidden"
    length_loss_weight: float = 1.0
    # Into the loss, so that logits are never held all at once, or plain.
    projection: str = "fused"
    # The loss is divided by the number of these.
    normalise: str = "tokens"
    # An ordinary token of the target, or drop it.
    eos: str = "keep"
    # How many tokens may be hidden at most.
    most_hidden: str = "all"

    def __post_init__(self) -> None:
        check_token_loss(self)
        check_masking(self)


SPEC = System(
    name="masked",
    label="CE",
    colours=("blue", "sky"),
    paper_rows={"raw": "ce", "distilled": "ce"},
    settings=MaskedSettings,
    decoding=LENGTH_CANDIDATES,
    num_own_parameters=length_head_parameters,
    engines={"onnx": ("onnx", "onnxruntime")},
    diagnostics=("confidence",),
    code="axenat.objectives.masked:Masked",
)
