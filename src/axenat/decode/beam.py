"""Left-to-right beam search with a cache, for the teacher.

What may never come out (padding, masks and the like) has no probability: it is left out before the softmax, as the
production engine does it too.
"""

import torch
from torch import Tensor

from axenat.data.vocab import BOS, EOS
from axenat.decode.hypothesis import Hypothesis
from axenat.decode.passes import allowed_ids
from axenat.model.layers import Cache
from axenat.model.transformer import Encoded, Transformer


def longest_output(source_length: int, max_positions: int) -> int:
    """A runaway hypothesis is cut here."""
    return min(max_positions, 2 * source_length + 10)


def beam_search(
    model: Transformer,
    source: Tensor,
    source_lengths: Tensor,
    *,
    beam_size: int,
    length_penalty: float,
    banned: tuple[int, ...],
    num_hypotheses: int = 1,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, best first, by log-probability / length ** length_penalty.

    A sentence ends when `beam_size` hypotheses have ended, or earlier when no open one can still be among the best.
    Without a length penalty only the latter counts: scores then only fall, so that it is never long in coming.
    """
    search = _Search(model, source, source_lengths, beam_size, length_penalty, banned, num_hypotheses)
    return [found[: search.wanted] for found in search.run()]


class _Search:
    """The open hypotheses of those sentences of a batch that still go on."""

    def __init__(
        self, model: Transformer, source: Tensor, source_lengths: Tensor, beam: int, penalty: float,
        banned: tuple[int, ...], wanted: int,
    ) -> None:  # fmt: skip
        B, device = len(source), source.device
        self.model, self.beam, self.penalty, self.wanted = model, beam, penalty, min(wanted, beam)
        self.allowed = allowed_ids(len(model.output_matrix), banned).to(device)
        self.matrix = model.output_matrix[self.allowed]
        self.encoded = model.encode(source, source_lengths)
        self.cache: list[Cache | None] = [None] * len(self.encoded.memory)
        self.sentence = torch.arange(B, device=device)  # which sentence of the batch each row is
        self.longest = torch.tensor(
            [longest_output(int(length), model.max_positions) for length in source_lengths], device=device
        )
        self.tokens = torch.full((B, beam, 1), BOS, device=device)
        # All beams start equal: only the first may go on, or the search would run k times side by side.
        self.scores = torch.full((B, beam), -torch.inf, device=device)
        self.scores[:, 0] = 0.0
        self.done: list[list[Hypothesis]] = [[] for _ in range(B)]

    def run(self) -> list[list[Hypothesis]]:
        while len(self.sentence):
            self._grow()
            self._drop_finished()
        return [sorted(found, key=lambda one: -one.score) for found in self.done]

    def _grow(self) -> None:
        """One more token for every open hypothesis."""
        length = self.tokens.shape[2]  # tokens after this step, without <bos>
        states, self.cache = self.model.decode_step(self.tokens[:, :, -1], length - 1, self.cache, self.encoded)
        best, origin, token = self._candidates(states)
        possible = best > -torch.inf
        last = (self.longest == length)[:, None]  # no more room: whatever stands is all there is
        self._finish(best, origin, token, possible & ((token == EOS) | last), length)
        self.scores, slot = best.masked_fill((token == EOS) | last, -torch.inf).topk(self.beam)
        origin, token = origin.gather(1, slot), token.gather(1, slot)
        history = self.tokens.gather(1, origin[:, :, None].expand(-1, -1, length))
        self.tokens = torch.cat([history, token[:, :, None]], dim=2)
        rows = (torch.arange(len(origin), device=origin.device)[:, None] * self.beam + origin).flatten()
        self.cache = [(keys[rows], values[rows]) for keys, values in _present(self.cache)]

    def _candidates(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Score, hypothesis and token (B 2k) of the best continuations: k of them go on even if k others end."""
        logits = (states @ self.matrix.T).float()
        B, k, V = logits.shape
        scores = logits.sub_((logits.logsumexp(-1) - self.scores)[:, :, None])
        best, place = scores.view(B, k * V).topk(min(2 * k, k * V))
        return best, place // V, self.allowed[place % V]

    def _finish(self, best: Tensor, origin: Tensor, token: Tensor, ends: Tensor, length: int) -> None:
        """Hypotheses that end among the best k of this step."""
        for row, rank in ends[:, : self.beam].nonzero().tolist():
            ids = [*self.tokens[row, origin[row, rank], 1:].tolist(), int(token[row, rank])]
            score = float(best[row, rank]) / length**self.penalty
            self.done[int(self.sentence[row])].append(Hypothesis(ids, score, ids[-1] == EOS))

    def _drop_finished(self) -> None:
        open_best = self.scores.max(1).values
        # Scores only fall, but a longer hypothesis divides them by more: this is the most it can reach.
        bound = (open_best / self.longest**self.penalty).tolist()
        going = [row for row, sentence in enumerate(self.sentence.tolist()) if self._goes_on(sentence, bound[row])]
        if len(going) < len(self.sentence):
            self._keep(torch.tensor(going, dtype=torch.long, device=self.sentence.device))

    def _goes_on(self, sentence: int, bound: float) -> bool:
        found = self.done[sentence]
        if bound == -torch.inf or (len(found) >= self.beam and self.penalty):
            return False
        return len(found) < self.wanted or sorted(one.score for one in found)[-self.wanted] < bound

    def _keep(self, rows: Tensor) -> None:
        self.sentence, self.longest = self.sentence[rows], self.longest[rows]
        self.tokens, self.scores = self.tokens[rows], self.scores[rows]
        beams = (rows[:, None] * self.beam + torch.arange(self.beam, device=rows.device)).flatten()
        self.cache = [(keys[beams], values[beams]) for keys, values in _present(self.cache)]
        memory = [(keys[rows], values[rows]) for keys, values in self.encoded.memory]
        mask = None if self.encoded.mask is None else self.encoded.mask[rows]
        self.encoded = Encoded(memory, mask, None)


def _present(cache: list[Cache | None]) -> list[Cache]:
    return [past for past in cache if past is not None]
