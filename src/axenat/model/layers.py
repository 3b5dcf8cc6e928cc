"""One encoder and one decoder layer: post-norm, GELU, one dropout rate after each block."""

from torch import Tensor, nn

from axenat.model.attention import CrossAttention, SelfAttention

Cache = tuple[Tensor, Tensor]


class FeedForward(nn.Sequential):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int, dropout: float, norm_eps: float) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.feed_forward = FeedForward(width, hidden)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=norm_eps) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        states = self.norms[0](states + self.dropout(self.attention(states, mask)))
        return self.norms[1](states + self.dropout(self.feed_forward(states)))  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int, dropout: float, norm_eps: float) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.cross_attention = CrossAttention(width, heads)
        self.feed_forward = FeedForward(width, hidden)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=norm_eps) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, states: Tensor, mask: Tensor | None, causal: bool, memory: Cache, memory_mask: Tensor | None
    ) -> Tensor:
        states = self.norms[0](states + self.dropout(self.attention(states, mask, causal)))
        return self._after_self_attention(states, memory, memory_mask)

    def step(
        self, states: Tensor, cache: Cache | None, memory: Cache, memory_mask: Tensor | None
    ) -> tuple[Tensor, Cache]:
        """One more position of k hypotheses per sentence (B k D), which share their sentence's memory."""
        B, k, D = states.shape
        attended, cache = self.attention.step(states.view(B * k, 1, D), cache)
        states = self.norms[0](states + self.dropout(attended.view(B, k, D)))
        return self._after_self_attention(states, memory, memory_mask), cache

    def memory(self, encoded: Tensor) -> Cache:
        """What its cross attention needs of the source, computed once."""
        return self.cross_attention.memory(encoded)

    def _after_self_attention(self, states: Tensor, memory: Cache, memory_mask: Tensor | None) -> Tensor:
        states = self.norms[1](states + self.dropout(self.cross_attention(states, memory, memory_mask)))
        return self.norms[2](states + self.dropout(self.feed_forward(states)))  # type: ignore[no-any-return]
