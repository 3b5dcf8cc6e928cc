"""What a study may say of a run: frozen records, checked where they are defined, refused in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from axenat.decodings import check_engine, sizes_in
from axenat.records import KINDS, LATER, MOST_SEED, ConfigError, at_least, between, one_of, share
from axenat.systems.registry import decodings, engines_of, settings_kinds, system_of
from axenat.systems.spec import Settings, System


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """Transformer base by default (section 4.1)."""

    width: int = 512
    encoder_layers: int = 6
    decoder_layers: int = 6
    heads: int = 8
    hidden: int = 2048
    dropout: float = 0.3
    max_positions: int = 1024  # also the number of classes of the length head
    init_std: float = 0.02
    init: str = "normal"  # all weights, or as in Mask-Predict's code, which overlooks some
    layer_norm_eps: float = 1.0e-5
    recompute: bool = False  # activations of each layer on the way back, to save memory

    def __post_init__(self) -> None:
        for name in ("width", "encoder_layers", "decoder_layers", "heads", "hidden"):
            at_least(f"model.{name}", getattr(self, name), 1)
        if self.width % self.heads:
            raise ConfigError(f"model.width must be a multiple of model.heads ({self.heads}), got {self.width}")
        at_least("model.max_positions", self.max_positions, 2)
        at_least("model.init_std", self.init_std, 0.0)
        one_of("model.init", self.init, ("normal", "mask_predict"))
        if self.layer_norm_eps <= 0:
            raise ConfigError(f"model.layer_norm_eps must be above 0, got {self.layer_norm_eps}")
        share("model.dropout", self.dropout)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """The paper's optimisation by default (section 4.1)."""

    steps: int = 300_000
    tokens_per_step: int = 131_072
    tokens_per_batch: int = 8_192  # what one device takes at once; a step adds up as many as it needs
    peak_lr: float = 5.0e-4
    warmup_steps: int = 10_000
    weight_decay: float = 0.01  # on all parameters
    weight_decay_kind: str = "decoupled"  # or l2, added to the gradient
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    adam_eps: float = 1.0e-6
    clip_norm: float = 25.0
    validate_every: int = 0  # steps; 0: at the end of each epoch
    keep_best: int = 5
    log_every: int = 20
    precision: str = "auto"
    compile: bool = False  # the model through torch.compile
    most_skipped: int = 10  # steps in a row whose loss or gradient is not finite, before the training gives up

    def __post_init__(self) -> None:
        for name in ("steps", "warmup_steps", "tokens_per_batch", "keep_best", "log_every"):
            at_least(f"train.{name}", getattr(self, name), 1)
        at_least("train.tokens_per_step", self.tokens_per_step, self.tokens_per_batch)
        at_least("train.validate_every", self.validate_every, 0)
        at_least("train.most_skipped", self.most_skipped, 0)
        for name in ("peak_lr", "adam_eps", "clip_norm"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"train.{name} must be above 0, got {getattr(self, name)}")
        share("train.adam_beta1", self.adam_beta1)
        share("train.adam_beta2", self.adam_beta2)
        share("train.weight_decay", self.weight_decay)
        one_of("train.precision", self.precision, ("auto", "fp32", "tf32", "bf16", "fp16"))
        one_of("train.weight_decay_kind", self.weight_decay_kind, ("decoupled", "l2"))


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodeConfig:
    """How a run is decoded; lists are the grids that `tune` searches on valid."""

    beam_size: int = 5
    length_penalties: tuple[float, ...] = (1.0,)
    num_length_candidates: int = 5  # ell
    length_multipliers: tuple[float, ...] = (1.0, 1.05, 1.06, 1.07, 1.08, 1.09, 1.1)  # lambda
    rank_norm: str = "positions"  # what the log-probability of a length candidate is divided by
    iterations: int = 1  # passes of Mask-Predict
    also: tuple[str, ...] = ("ell1",)  # further decodings that are reported; a run takes those that fit its objective
    engine: str = "auto"
    precision: str = "auto"
    tokens_per_batch: int = 4_096

    def __post_init__(self) -> None:
        for name in ("beam_size", "num_length_candidates", "iterations", "tokens_per_batch"):
            at_least(f"decode.{name}", getattr(self, name), 1)
        one_of("decode.rank_norm", self.rank_norm, ("positions", "tokens", "sum"))
        check_engine(self.engine, self.precision)
        for name in self.also:
            sizes_in(name, where="decode.also: ")
        for tuned in (decoding.tuned for decoding in decodings()):
            values = getattr(self, tuned.grid)
            if not values:
                raise ConfigError(f"decode.{tuned.grid} must hold at least one number, got an empty list")
            at_least(f"each number of decode.{tuned.grid}", min(values), tuned.least)
            if len(set(values)) < len(values):  # `dvc exp run -S file:+key=[...]` writes the list twice
                raise ConfigError(f"decode.{tuned.grid} must hold each number once, got {list(values)}")

    def named(self, name: str) -> "DecodeConfig":
        """The same but for what the name says."""
        return replace(self, **sizes_in(name))


TARGET_SIDES = ("raw", "distilled")
# Corpora of the paper in each direction: the columns of its tables.
PAPER_COLUMNS = ("wmt14-en-de", "wmt14-de-en", "wmt16-en-ro", "wmt16-ro-en", "wmt17-en-zh", "wmt17-zh-en")


def is_ablation(objective: Mapping[str, Any]) -> bool:
    """Trained otherwise than the paper settles on in section 3.3: such a run stands in Table 5, and in no other.

    What an objective does not say, or does not read, is as the paper has it.
    """
    return (objective.get("observe", "some"), objective.get("score", "hidden")) != ("some", "hidden")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunConfig:
    corpus: str
    objective: Settings = field(metadata={KINDS: settings_kinds})
    target_side: str = "raw"
    seed: int = 1
    # A run whose weights are the first ones.
    start_from: str | None = field(default=None, metadata={LATER: True})
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)

    def __post_init__(self) -> None:
        one_of("target_side", self.target_side, TARGET_SIDES)
        between("seed", self.seed, 0, MOST_SEED)
        engines = ("auto", *engines_of(self.system))
        one_of(f"decode.engine of a {self.objective.name} run", self.decode.engine, engines)

    @property
    def system(self) -> System:
        return system_of(self.objective.name)

    @property
    def decode_name(self) -> str:
        return self.system.decoding.name(self.decode)

    @property
    def decode_names(self) -> tuple[str, ...]:
        """The decoding that the run is tuned for, and those that are reported beside it."""
        fitting = [name for name in self.decode.also if self.system.decoding.sizes_in(name)]
        return tuple(dict.fromkeys([self.decode_name, *fitting]))
