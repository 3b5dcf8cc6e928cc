"""Which source word each target word looks at, from the decoder layer by layer: one sentence, plain loops."""

import torch

from axenat.data.vocab import BLANK, BOS, EOS, MASK
from axenat.decode.translator import Translator


def aligned_slowly(translator: Translator, line: str, ids: list[int]) -> list[tuple[int, int]]:
    source = translator.encode(line)
    weights = _weights(translator, source, ids)
    source_words = translator.source.subwords(line).split()[: len(source) - 1]
    kept = [i for i, token in enumerate(ids) if token not in (EOS, BLANK)]
    totals: dict[int, dict[int, float]] = {}
    target_word = 0
    for i in kept:
        source_word = 0
        row = totals.setdefault(target_word, {})
        for j, subword in enumerate(source_words):
            row[source_word] = row.get(source_word, 0.0) + float(weights[i, j])
            source_word += not subword.endswith("@@")
        target_word += not translator.target.vocab.decode([ids[i]])[0].endswith("@@")
    return [(max(row, key=lambda word: row[word]), number) for number, row in totals.items()]


def _weights(translator: Translator, source: list[int], ids: list[int]) -> torch.Tensor:
    """(m s), mean over the heads: of the last layer, or in decoders of four and more of the last but one."""
    model, causal = translator.model, translator.objective.causal
    canvas = torch.tensor([[BOS, *ids[:-1]] if causal else [MASK] * len(ids)])
    layers = model.decoder_layers()
    chosen = len(layers) - 2 if len(layers) >= 4 else len(layers) - 1
    encoded = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    states = model.target_tokens(canvas) + model.target_positions.weight[: len(ids)]
    for layer, memory in list(zip(layers, encoded.memory, strict=True))[:chosen]:
        states = layer(states, None, causal, memory, None)
    layer, (keys, _) = layers[chosen], encoded.memory[chosen]
    states = layer.norms[0](states + layer.attention(states, None, causal))
    query = layer.cross_attention.query(states)[0].view(len(ids), layer.attention.heads, -1)
    heads = [
        (query[:, h] @ keys[0, h].T / query.shape[-1] ** 0.5).softmax(-1) for h in range(layer.attention.heads)
    ]  # fmt: skip
    return sum(heads) / len(heads)
