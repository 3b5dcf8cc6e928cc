"""Multi-head attention: self and cross, with a cache for left-to-right decoding."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def _split(states: Tensor, heads: int) -> Tensor:
    """(B m D) -> (B h m D/h)"""
    B, m, D = states.shape
    return states.view(B, m, heads, D // heads).transpose(1, 2)


def _join(states: Tensor) -> Tensor:
    """(B h m d) -> (B m h*d)"""
    B, h, m, d = states.shape
    return states.transpose(1, 2).reshape(B, m, h * d)


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def inputs(self) -> tuple[nn.Linear, ...]:
        """What makes queries, keys and values."""
        return (self.qkv,)

    def forward(self, states: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """`mask` (B 1 1 m) is True where a position may be attended to; None: everywhere."""
        query, key, value = (_split(part, self.heads) for part in self.qkv(states).chunk(3, dim=-1))
        # A causal row never looks right, where its padding is, so it needs no padding mask.
        attended = F.scaled_dot_product_attention(
            query, key, value, attn_mask=None if causal else mask, is_causal=causal
        )
        return self.out(_join(attended))  # type: ignore[no-any-return]

    def step(self, states: Tensor, cache: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One more position (B 1 D) after those in the cache."""
        query, key, value = (_split(part, self.heads) for part in self.qkv(states).chunk(3, dim=-1))
        if cache is not None:
            key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
        attended = F.scaled_dot_product_attention(query, key, value)
        return self.out(_join(attended)), (key, value)


class CrossAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def inputs(self) -> tuple[nn.Linear, ...]:
        """What makes queries, keys and values."""
        return self.query, self.key_value

    def memory(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the source, computed once however often they are attended to."""
        key, value = self.key_value(encoded).chunk(2, dim=-1)
        return _split(key, self.heads), _split(value, self.heads)

    def weights(self, states: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
        """(B h m s): how much each position looks at each source token; `forward` never holds them."""
        query, key = _split(self.query(states), self.heads), memory[0]
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(-1)  # type: ignore[no-any-return]

    def forward(self, states: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
        query = _split(self.query(states), self.heads)
        attended = F.scaled_dot_product_attention(query, *memory, attn_mask=mask)
        return self.out(_join(attended))  # type: ignore[no-any-return]
