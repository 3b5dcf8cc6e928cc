"""The autoregressive transformer, as data."""

from dataclasses import dataclass

from axenat.systems.shared.settings import check_token_loss
from axenat.systems.spec import Decoding, Size, System, Tuned


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftToRightSettings:
    name: str
    label_smoothing: float = 0.1
    # Into the loss, so that logits are never held all at once, or plain.
    projection: str = "fused"
    # The loss is divided by the number of these.
    normalise: str = "tokens"

    def __post_init__(self) -> None:
        check_token_loss(self)


SPEC = System(
    name="left_to_right",
    label="left-to-right",
    colours=("green", "brown"),
    paper_rows={"raw": "base", "distilled": "base_distilled"},
    settings=LeftToRightSettings,
    decoding=Decoding(
        sizes=(Size(key="beam_size", prefix="beam"),),
        tuned=Tuned(key="length_penalty", grid="length_penalties", least=0.0),
        example="beam5",
    ),
    teaches=True,
    engines={"ctranslate2": ("ctranslate2",)},
    code="axenat.objectives.left_to_right:LeftToRight",
)
