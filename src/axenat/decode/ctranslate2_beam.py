"""Beam search by CTranslate2, with our weights in its transformer: the teacher at the speed of a production engine."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import ctranslate2
import numpy as np
import numpy.typing as npt
import torch
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation
from torch import Tensor, nn

from axenat.config import DecodeConfig
from axenat.data.vocab import BOS, EOS, UNK
from axenat.decode.beam import longest_output
from axenat.decode.hypothesis import Hypothesis
from axenat.files import UserError
from axenat.model.transformer import Transformer

# Weights in 7 bits: where a CPU adds up pairs of 8-bit products in 16 bits (AVX2), pairs of full size overflow.
LARGEST_WEIGHT = 63
QUEUED = 64  # batches that wait for a free thread


def supports(device: torch.device) -> bool:
    """Does this build of CTranslate2 know the device?"""
    return device.type == "cpu" or (device.type == "cuda" and ctranslate2.get_cuda_device_count() > 0)


class CTranslate2Beam:
    name = "ctranslate2"

    def __init__(
        self,
        model: Transformer,
        banned: tuple[int, ...],
        decode: DecodeConfig,
        device: torch.device,
        precision: str,
        threads: int,
        latency: bool = False,
    ) -> None:
        """Each batch gets one thread, so that many run at once; with `latency`, all threads work on one batch."""
        self.settings, self.precision, self.max_positions = decode, precision, model.max_positions
        compute_type = "int8_float16" if (precision, device.type) == ("int8", "cuda") else precision
        allowed = ctranslate2.get_supported_compute_types(device.type)
        if compute_type not in allowed:
            known = sorted({kind.partition("_")[0] for kind in allowed} & {"float32", "float16", "int8"})
            raise UserError(
                f"decode.precision {precision}: ctranslate2 cannot do it on this {device.type}; "
                f"allowed are {', '.join(known)}"
            )
        at_once = 1 if latency or device.type == "cuda" else threads
        with tempfile.TemporaryDirectory() as folder:
            spec = specification(model, quantised=precision == "int8")
            spec.save(folder)
            self.engine = ctranslate2.Translator(
                folder, device=device.type, device_index=device.index or 0, compute_type=compute_type,
                inter_threads=at_once, intra_threads=max(1, threads // at_once), max_queued_batches=QUEUED,
            )  # fmt: skip
        self.banned = [[str(token)] for token in banned]

    def decode(
        self, sources: Sequence[list[int]], value: float, num_hypotheses: int = 1
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        if num_hypotheses > 1 and value == 0:
            raise UserError(
                "without a length penalty, ctranslate2 ends when the best hypothesis has ended and may miss the next "
                "best ones; use --engine torch"
            )
        beam = self.settings.beam_size
        waiting: list[tuple[list[int], Any]] = []
        for rows in self._batches(sources):
            longest = longest_output(len(sources[rows[0]]), self.max_positions)
            results = self.engine.translate_batch(
                [[str(token) for token in sources[row]] for row in rows],
                asynchronous=True, beam_size=beam, num_hypotheses=min(num_hypotheses, beam), length_penalty=value,
                max_decoding_length=longest, min_decoding_length=0, max_input_length=0, suppress_sequences=self.banned,
                return_scores=True, return_end_token=True,
            )  # fmt: skip
            waiting.append((rows, results))
            if len(waiting) > QUEUED:
                yield from _finished(*waiting.pop(0))
        for rows, results in waiting:
            yield from _finished(rows, results)

    def _batches(self, sources: Sequence[list[int]]) -> Iterator[list[int]]:
        """Sentences of one length each: none is padded, and all share the length at which a runaway is cut."""
        of_length: dict[int, list[int]] = defaultdict(list)
        for row, source in enumerate(sources):
            of_length[len(source)].append(row)
        for length, rows in sorted(of_length.items(), reverse=True):  # the longest last would leave threads idle
            size = max(1, self.settings.tokens_per_batch // (self.settings.beam_size * length))
            for start in range(0, len(rows), size):
                yield rows[start : start + size]


def _finished(rows: list[int], results: list[Any]) -> Iterator[tuple[int, list[Hypothesis]]]:
    for row, result in zip(rows, results, strict=True):
        found = result.result()
        ids = [[int(token) for token in tokens] for tokens in found.hypotheses]
        yield row, [Hypothesis(one, score, one[-1] == EOS) for one, score in zip(ids, found.scores, strict=True)]


def specification(model: Transformer, quantised: bool) -> TransformerSpec:
    """Our weights under CTranslate2's names. Its tokens are our ids, so that no text can be mistaken for a special."""
    first = model.decoder_layers()[0]
    spec = TransformerSpec.from_config(
        (len(model.encoder), len(model.decoder)), first.attention.heads, pre_norm=False, activation=Activation.GELU
    )
    encoder, decoder = spec.encoder, spec.decoder
    encoder.scale_embeddings = decoder.scale_embeddings = False
    encoder.embeddings[0].weight = _values(model.source_tokens.weight)
    decoder.embeddings.weight = _values(model.target_tokens.weight)
    encoder.position_encodings.encodings = _values(model.source_positions.weight)
    decoder.position_encodings.encodings = _values(model.target_positions.weight)
    _weight(decoder.projection, model.output_matrix, quantised)
    layer: Any
    for into, layer in zip(encoder.layer, model.encoder, strict=True):
        _self_attention(into, layer, quantised)
        _feed_forward(into.ffn, layer.feed_forward, layer.norms[1], quantised)
    for into, layer in zip(decoder.layer, model.decoder_layers(), strict=True):
        _self_attention(into, layer, quantised)
        cross = layer.cross_attention
        for place, linear in zip(into.attention.linear, (cross.query, cross.key_value, cross.out), strict=True):
            _linear(place, linear, quantised)
        _norm(into.attention.layer_norm, layer.norms[1])
        _feed_forward(into.ffn, layer.feed_forward, layer.norms[2], quantised)
    spec.register_source_vocabulary([str(number) for number in range(len(model.source_tokens.weight))])
    spec.register_target_vocabulary([str(number) for number in range(len(model.target_tokens.weight))])
    config = spec.config
    config.bos_token = config.decoder_start_token = str(BOS)
    config.eos_token, config.unk_token = str(EOS), str(UNK)
    config.layer_norm_epsilon = first.norms[0].eps
    spec.validate()
    spec.optimize()
    return spec


def _self_attention(into: Any, layer: Any, quantised: bool) -> None:
    for place, linear in zip(into.self_attention.linear, (layer.attention.qkv, layer.attention.out), strict=True):
        _linear(place, linear, quantised)
    _norm(into.self_attention.layer_norm, layer.norms[0])


def _feed_forward(into: Any, layer: Any, norm: Any, quantised: bool) -> None:
    _linear(into.linear_0, layer[0], quantised)
    _linear(into.linear_1, layer[2], quantised)
    _norm(into.layer_norm, norm)


def _linear(into: Any, linear: nn.Linear, quantised: bool) -> None:
    _weight(into, linear.weight, quantised)
    into.bias = _values(linear.bias)


def _weight(into: Any, weight: Tensor, quantised: bool) -> None:
    values = _values(weight)
    if quantised:
        largest = np.abs(values).max(axis=1)
        into.weight_scale = (LARGEST_WEIGHT / np.where(largest == 0, LARGEST_WEIGHT, largest)).astype(np.float32)
        values = np.rint(values * into.weight_scale[:, None]).astype(np.int8)
    into.weight = values


def _norm(into: Any, norm: Any) -> None:
    into.gamma, into.beta = _values(norm.weight), _values(norm.bias)


def _values(tensor: Tensor) -> npt.NDArray[Any]:
    return tensor.detach().float().cpu().numpy()
