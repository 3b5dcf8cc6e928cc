"""Left-to-right beam search with a cache, for the teacher."""

import torch
from torch import Tensor

from axenat.data.vocab import BOS, EOS
from axenat.decode.parallel import Hypothesis
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
) -> list[list[Hypothesis]]:
    """Finished hypotheses of each sentence, best first, by log-probability / length ** length_penalty.

    A sentence ends when `beam_size` hypotheses have ended, or earlier when no open one can still win.
    """
    return _Search(model, source, source_lengths, beam_size, length_penalty, banned).run()


class _Search:
    """The open hypotheses of those sentences of a batch that still go on."""

    def __init__(
        self, model: Transformer, source: Tensor, source_lengths: Tensor, beam: int, penalty: float,
        banned: tuple[int, ...],
    ) -> None:  # fmt: skip
        B, device = len(source), source.device
        self.model, self.beam, self.penalty, self.banned = model, beam, penalty, list(banned)
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
        return [sorted(found, key=lambda one: -one.score)[: self.beam] for found in self.done]

    def _grow(self) -> None:
        """One more token for every open hypothesis."""
        length = self.tokens.shape[2]  # tokens after this step, without <bos>
        log_probs, self.cache = self.model.decode_step(self.tokens[:, :, -1], length - 1, self.cache, self.encoded)
        log_probs[:, :, self.banned] = -torch.inf
        must_end = (self.longest == length)[:, None, None]
        ending = log_probs[:, :, EOS].clone()
        log_probs.masked_fill_(must_end, -torch.inf)
        log_probs[:, :, EOS] = ending
        B, k, V = log_probs.shape
        best, place = (self.scores[:, :, None] + log_probs).view(B, k * V).topk(min(2 * k, k * V))
        origin, token = place // V, place % V
        ended = (token == EOS) & (best > -torch.inf)
        self._finish(best, origin, ended, length)
        open_scores = best.masked_fill(token == EOS, -torch.inf)
        self.scores, slot = open_scores.topk(k)
        origin, token = origin.gather(1, slot), token.gather(1, slot)
        history = self.tokens.gather(1, origin[:, :, None].expand(-1, -1, length))
        self.tokens = torch.cat([history, token[:, :, None]], dim=2)
        rows = (torch.arange(B, device=origin.device)[:, None] * k + origin).flatten()
        self.cache = [(keys[rows], values[rows]) for keys, values in _present(self.cache)]

    def _finish(self, best: Tensor, origin: Tensor, ended: Tensor, length: int) -> None:
        """Hypotheses that end among the best k of this step."""
        for row, rank in ended[:, : self.beam].nonzero().tolist():
            found = self.done[int(self.sentence[row])]
            if len(found) < self.beam:
                ids = [*self.tokens[row, origin[row, rank], 1:].tolist(), EOS]
                found.append(Hypothesis(ids, float(best[row, rank]) / length**self.penalty))

    def _drop_finished(self) -> None:
        open_best = self.scores.max(1).values
        # Scores only fall, but a longer hypothesis divides them by more: this is the most it can reach.
        bound = (open_best / self.longest**self.penalty).tolist()
        going = []
        for row, sentence in enumerate(self.sentence.tolist()):
            found = self.done[sentence]
            settled = found and max(one.score for one in found) >= bound[row]
            if bound[row] > -torch.inf and len(found) < self.beam and not settled:
                going.append(row)
        if len(going) < len(self.sentence):
            self._keep(torch.tensor(going, dtype=torch.long, device=self.sentence.device))

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
