"""The encoder-decoder transformer of section 3.1, with the length head of conditional masked models.

Left-to-right and masked models are the same network; only the attention mask and the length head differ.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from axenat.config import ModelConfig
from axenat.files import UserError
from axenat.model.attention import CrossAttention, SelfAttention
from axenat.model.layers import Cache, DecoderLayer, EncoderLayer


class Encoded(NamedTuple):
    """A source sentence as the decoder sees it."""

    memory: list[Cache]  # per decoder layer: keys and values (B h s d)
    mask: Tensor | None  # (B 1 1 s), True where there is a token; None: no padding at all
    length_logits: Tensor | None  # (B, max_positions + 1), class = number of target tokens


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """Decoder states and the matrix that turns them into logits: an objective projects what it scores."""

    states: Tensor  # (B m D)
    output_matrix: Tensor  # (V D)
    length_logits: Tensor | None

    def logits(self) -> Tensor:
        return self.states @ self.output_matrix.T


def padding_mask(lengths: Tensor, size: int) -> Tensor | None:
    """(B 1 1 size), True at tokens; None when every sentence fills the batch, where asking costs nothing.

    A GPU would have to wait for the answer, and a compiled graph would break at it.
    """
    cheap = lengths.device.type == "cpu" and not torch.compiler.is_compiling()
    if cheap and int(lengths.min()) == size:
        return None
    return (torch.arange(size, device=lengths.device) < lengths[:, None])[:, None, None, :]


class Transformer(nn.Module):
    def __init__(
        self, config: ModelConfig, source_size: int, target_size: int, *, joint: bool, predicts_length: bool
    ) -> None:
        super().__init__()
        width, shape = config.width, (config.width, config.heads, config.hidden, config.dropout, config.layer_norm_eps)
        self.max_positions = config.max_positions
        self.recompute = config.recompute
        self.target_tokens = nn.Embedding(target_size, width)
        self.source_tokens = self.target_tokens if joint else nn.Embedding(source_size, width)
        self.source_positions = nn.Embedding(config.max_positions, width)
        self.target_positions = nn.Embedding(config.max_positions, width)
        self.encoder = nn.ModuleList(EncoderLayer(*shape) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*shape) for _ in range(config.decoder_layers))
        self.dropout = nn.Dropout(config.dropout)
        # Row 0 is the LENGTH token put before the source; row k is the class "k target tokens".
        self.lengths = nn.Embedding(config.max_positions + 1, width) if predicts_length else None
        self.apply(lambda module: _bert_init(module, config.init_std))
        if config.init == "mask_predict":
            self.apply(_attention_inputs_like_mask_predict)

    def forward(self, source: Tensor, source_lengths: Tensor, canvas: Tensor, canvas_lengths: Tensor,
                causal: bool) -> ModelOutput:  # fmt: skip
        encoded = self.encode(source, source_lengths)
        states = self.decode(canvas, canvas_lengths, encoded, causal)
        return ModelOutput(states, self.output_matrix, encoded.length_logits)

    @property
    def output_matrix(self) -> Tensor:
        """Tied to the target embedding, no bias."""
        return self.target_tokens.weight

    def decoder_layers(self) -> list[DecoderLayer]:
        return list(self.decoder)  # type: ignore[arg-type]

    def encode(self, source: Tensor, source_lengths: Tensor) -> Encoded:
        B, s = source.shape
        states = self.source_tokens(source) + self.source_positions.weight[:s]
        mask = padding_mask(source_lengths, s)
        if self.lengths is not None:
            states = torch.cat([self.lengths.weight[:1].expand(B, 1, -1), states], dim=1)
        states = self.dropout(states)
        encoder_mask = mask
        if mask is not None and self.lengths is not None:
            encoder_mask = torch.cat([mask.new_ones(B, 1, 1, 1), mask], dim=-1)
        for layer in self.encoder:
            states = self._run(layer, states, encoder_mask)
        length_logits = None
        if self.lengths is not None:
            length_logits = (states[:, 0] @ self.lengths.weight.T).float()
            length_logits[:, 0] = -torch.inf
            states = states[:, 1:]  # the decoder does not attend to the LENGTH token
        memory = [layer.memory(states) for layer in self.decoder_layers()]
        return Encoded(memory, mask, length_logits)

    def decode(self, canvas: Tensor, canvas_lengths: Tensor, encoded: Encoded, causal: bool) -> Tensor:
        m = canvas.shape[1]
        if m > self.max_positions:
            raise UserError(f"model.max_positions is {self.max_positions}, but a canvas has {m} positions; raise it")
        states = self.target_tokens(canvas) + self.target_positions.weight[:m]
        states = self.dropout(states)
        mask = padding_mask(canvas_lengths, m)
        for layer, memory in zip(self.decoder_layers(), encoded.memory, strict=True):
            states = self._run(layer, states, mask, causal, memory, encoded.mask)
        return states  # type: ignore[no-any-return]

    def _run(self, layer: nn.Module, *arguments: Any) -> Any:
        """A layer; with `recompute` its activations are forgotten and made again, dropout and all, on the way back."""
        if self.recompute and self.training and torch.is_grad_enabled():
            return checkpoint(layer, *arguments, use_reentrant=False)
        return layer(*arguments)

    def decode_step(
        self, tokens: Tensor, position: int, cache: list[Cache | None], encoded: Encoded
    ) -> tuple[Tensor, list[Cache | None]]:
        """States (B k D) of what comes after `tokens` (B k); the cache holds all before, (B*k h t d)."""
        states = self.target_tokens(tokens) + self.target_positions.weight[position]
        states = self.dropout(states)
        grown: list[Cache | None] = []
        for layer, past, memory in zip(self.decoder_layers(), cache, encoded.memory, strict=True):
            states, past = layer.step(states, past, memory, encoded.mask)
            grown.append(past)
        return states, grown


def _bert_init(module: nn.Module, std: float) -> None:
    """Section 4.1: weights from N(0, 0.02), biases zero, layer normalisation at one and zero."""
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=std)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=std)


def _attention_inputs_like_mask_predict(module: nn.Module) -> None:
    """Differs from the paper: in Mask-Predict's code the query, key and value weights of each attention are one
    parameter (3D D) that its initialisation overlooks, so they keep Xavier's uniform values. Ours are in one matrix or
    two, and get the bounds of the one.
    """
    if isinstance(module, SelfAttention | CrossAttention):
        for linear in module.inputs():
            bound = (6 / (linear.in_features + 3 * linear.in_features)) ** 0.5
            nn.init.uniform_(linear.weight, -bound, bound)
