"""Training as a competent newcomer writes it with `torch.nn.Transformer`: what our engine is measured against.

The same network (post-norm, GELU, learned positions, one tied embedding) and the same two objectives; torch's own
layers, padded batches, masks, cross entropy that ignores padding, clipping, and AdamW as it comes. One difference is
in its favour: it reads the target's length off the first source token, where ours encodes one more token a sentence.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from axenat.config import ModelConfig
from axenat.data.vocab import BOS, MASK, PAD

Pair = tuple[Tensor, Tensor]  # source and target ids; sentences (s,) and (n,), or a batch (B s) and (B n)


class PlainTransformer(nn.Module):
    def __init__(self, config: ModelConfig, V: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(V, config.width)
        self.source_positions = nn.Embedding(config.max_positions, config.width)
        self.target_positions = nn.Embedding(config.max_positions, config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.width, config.heads, config.encoder_layers, config.decoder_layers, config.hidden, config.dropout,
            activation="gelu", batch_first=True,
        )  # fmt: skip
        self.output = nn.Linear(config.width, V, bias=False)
        self.output.weight = self.tokens.weight
        self.lengths = nn.Linear(config.width, config.max_positions + 1)
        nn.init.normal_(self.tokens.weight, std=config.init_std)

    def forward(self, source: Tensor, target: Tensor, padding: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
        """Logits of tokens (B n V) and of the number of target tokens (B, max_positions + 1)."""
        embedded = self.dropout(self.tokens(source) + self.source_positions.weight[: source.shape[1]])
        no_source = source == PAD
        memory = self.transformer.encoder(embedded, src_key_padding_mask=no_source)
        states = self.transformer.decoder(
            self.dropout(self.tokens(target) + self.target_positions.weight[: target.shape[1]]),
            memory,
            tgt_mask=torch.ones(2 * target.shape[1:], dtype=torch.bool).triu(1) if causal else None,
            tgt_key_padding_mask=padding,
            memory_key_padding_mask=no_source,
            tgt_is_causal=causal,
        )
        return self.output(states), self.lengths(memory[:, 0])


def random_batches(pairs: list[Pair], size: int) -> Iterator[Pair]:
    """Epoch after epoch: `size` sentences as they come, padded to the longest."""

    def together(sentences: list[Pair]) -> Pair:
        sources, targets = zip(*sentences, strict=True)
        return (
            pad_sequence(sources, batch_first=True, padding_value=PAD),
            pad_sequence(targets, batch_first=True, padding_value=PAD),
        )

    while True:
        yield from DataLoader(pairs, batch_size=size, shuffle=True, collate_fn=together)  # type: ignore[arg-type]


def left_to_right(model: PlainTransformer, source: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
    """Every next token from all before it."""
    shifted = F.pad(target[:, :-1], (1, 0), value=BOS)
    logits, _ = model(source, shifted, shifted == PAD, causal=True)
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=label_smoothing)


def masked(model: PlainTransformer, source: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
    """Hidden tokens from the others, as many hidden as a random share; and how many tokens there are."""
    padding = target == PAD
    hidden = (torch.rand(target.shape) < torch.rand(len(target), 1)) & ~padding
    logits, length_logits = model(source, target.masked_fill(hidden, MASK), padding, causal=False)
    wanted = target.masked_fill(~hidden, PAD)
    tokens = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, label_smoothing=label_smoothing)
    return tokens + F.cross_entropy(length_logits, (~padding).sum(1))


LOSSES = {"left_to_right": left_to_right, "masked": masked}


def plain_steps(
    model: PlainTransformer, objective: str, batches: Iterator[Pair], label_smoothing: float, clip_norm: float
) -> Iterator[int]:
    """Take one training step after another; each gives the number of its real tokens."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()
    for source, target in batches:
        optimizer.zero_grad()
        LOSSES[objective](model, source, target, label_smoothing).backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        optimizer.step()
        yield int((source != PAD).sum() + (target != PAD).sum())
