"""Which source word each word of a translation looks at: the decoder's attention, as pairs of words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from axenat.data.batches import pad
from axenat.data.subwords import SEPARATOR
from axenat.data.vocab import BLANK, BOS, EOS, Vocab, split_tokens
from axenat.decode.engines import batches
from axenat.decode.translator import Translation, Translator
from axenat.model.transformer import Transformer
from axenat.objectives.masking import blank_page

DEEP = 4  # layers
Pairs = list[tuple[int, int]]  # source word, target word, counted from 0


@torch.inference_mode()
def word_alignments(translator: Translator, lines: list[str], translations: list[Translation]) -> list[Pairs]:
    """Of tokenised lines and their translations, by any engine: the model reads each translation once more."""
    found: list[Pairs] = [[] for _ in lines]
    filled = [i for i, one in enumerate(translations) if one.ids]
    sources = [translator.encode(lines[i]) for i in filled]
    for rows in batches(sources, translator.decode.tokens_per_batch):
        ids = [list(translations[filled[row]].ids) for row in rows]
        attention = _attention(translator, [sources[row] for row in rows], ids)
        for row, weights, target in zip(rows, attention, ids, strict=True):
            subwords = split_tokens(translator.source.subwords(lines[filled[row]]))[: len(sources[row]) - 1]
            found[filled[row]] = _pairs(weights, subwords, target, translator.target.vocab)
    return found


def _attention(translator: Translator, sources: list[list[int]], targets: list[list[int]]) -> Tensor:
    """(B m s) on the way to these translations: a masked model's first pass, which sees nothing of them."""
    model, device = translator.model, translator.device
    source, source_lengths = (tensor.to(device) for tensor in pad(sources))
    target, lengths = (tensor.to(device) for tensor in pad(targets))
    if translator.objective.causal:
        canvas = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
    else:
        canvas = blank_page(lengths).ids
    with _watched(model) as seen:
        model.decode(canvas, lengths, model.encode(source, source_lengths), translator.objective.causal)
    return seen[0]


@contextmanager
def _watched(model: Transformer) -> Iterator[list[Tensor]]:
    """Collects the cross attention of one layer, mean over its heads.

    In deep decoders the last layer but one aligns best, since the last one already looks at what comes next; in shallow
    ones the last.
    """
    layers, seen = model.decoder_layers(), []
    attention = layers[-2 if len(layers) >= DEEP else -1].cross_attention

    def watch(module: Any, arguments: tuple[Any, ...]) -> None:
        seen.append(attention.weights(*arguments).mean(1))

    handle = attention.register_forward_pre_hook(watch)
    try:
        yield seen
    finally:
        handle.remove()


def _pairs(weights: Tensor, source: list[str], target: list[int], vocab: Vocab) -> Pairs:
    """Each target word with the source word that its subwords look at most; <eos> and blanks are no words."""
    source_words, kept = word_numbers(source), [i for i, token in enumerate(target) if token not in (EOS, BLANK)]
    if not kept:
        return []
    target_words = word_numbers(vocab.decode(target[i] for i in kept))
    table = torch.zeros(target_words[-1] + 1, source_words[-1] + 1, device=weights.device)
    rows = torch.tensor(target_words, device=weights.device)[:, None].expand(-1, len(source))
    columns = torch.tensor(source_words, device=weights.device).expand(len(kept), -1)
    table.index_put_((rows, columns), weights[kept, : len(source)].float(), accumulate=True)
    return [(word, number) for number, word in enumerate(table.argmax(1).tolist())]


def word_numbers(subwords: list[str]) -> list[int]:
    """The word that each subword is a part of."""
    numbers, word = [], 0
    for token in subwords:
        numbers.append(word)
        word += not token.endswith(SEPARATOR)
    return numbers
