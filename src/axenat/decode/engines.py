"""What decodes: torch everywhere, and where they are installed CTranslate2 for teachers, ONNX Runtime for students."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from importlib.util import find_spec
from typing import Protocol

import numpy as np
import torch

from axenat.config import DecodeConfig
from axenat.data.batches import pad, plan_batches
from axenat.decode.beam import beam_search
from axenat.decode.hypothesis import Hypothesis
from axenat.decode.parallel import parallel_decode, shortest
from axenat.decode.passes import Passes, TorchPasses
from axenat.files import UserError
from axenat.model.transformer import Transformer
from axenat.objectives.registry import objective_of
from axenat.systems.registry import engines_of, system_of
from axenat.systems.spec import Settings, System


class Engine(Protocol):
    name: str
    precision: str

    def decode(
        self, sources: Sequence[list[int]], value: float, num_hypotheses: int = 1
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Hypotheses of each source, best first, with its number, as they get done.

        `value` is the length penalty or the length multiplier.
        """


class TorchBeam:
    name = "torch"

    def __init__(
        self, model: Transformer, banned: tuple[int, ...], decode: DecodeConfig, device: torch.device, precision: str
    ) -> None:
        self.model, self.banned, self.settings, self.device, self.precision = model, banned, decode, device, precision

    @torch.inference_mode()
    def decode(
        self, sources: Sequence[list[int]], value: float, num_hypotheses: int = 1
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        beam = self.settings.beam_size
        for rows in batches(sources, self.settings.tokens_per_batch // beam):
            source, lengths = (tensor.to(self.device) for tensor in pad([sources[row] for row in rows]))
            found = beam_search(
                self.model, source, lengths, beam_size=beam, length_penalty=value, banned=self.banned,
                num_hypotheses=num_hypotheses,
            )  # fmt: skip
            yield from zip(rows, found, strict=True)


class Parallel:
    """Masked models, whatever runs their two passes."""

    def __init__(
        self, name: str, passes: Passes, decode: DecodeConfig, least: int, device: torch.device, precision: str,
        at_once: int = 1,
    ) -> None:  # fmt: skip
        """`at_once` batches run side by side, each on a thread of its own."""
        self.name, self.passes, self.settings, self.least = name, passes, decode, least
        self.device, self.precision, self.at_once = device, precision, at_once

    def decode(
        self, sources: Sequence[list[int]], value: float, num_hypotheses: int = 1
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        def found(rows: list[int]) -> list[list[Hypothesis]]:
            return self._batch([sources[row] for row in rows], value)

        plan = list(batches(sources, self.settings.tokens_per_batch // self.settings.num_length_candidates))
        if self.at_once > 1 and len(plan) > 1:
            with ThreadPoolExecutor(self.at_once) as pool:
                yield from _best(plan, pool.map(found, plan), num_hypotheses)
        else:
            yield from _best(plan, map(found, plan), num_hypotheses)

    @torch.inference_mode()
    def _batch(self, sources: list[list[int]], value: float) -> list[list[Hypothesis]]:
        source, lengths = (tensor.to(self.device) for tensor in pad(sources))
        return parallel_decode(
            self.passes, source, lengths, num_length_candidates=self.settings.num_length_candidates,
            length_multiplier=value, least=self.least, rank_norm=self.settings.rank_norm,
            iterations=self.settings.iterations,
        )  # fmt: skip


def _best(
    plan: list[list[int]], found: Iterable[list[list[Hypothesis]]], number: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    for rows, candidates in zip(plan, found, strict=True):
        yield from ((row, best[:number]) for row, best in zip(rows, candidates, strict=True))


def batches(sources: Sequence[list[int]], tokens: int) -> Iterator[list[int]]:
    """Numbers of sources of similar length, at most so many tokens with their padding."""
    if len(sources) == 1:  # planning would take a tenth of a small model's time
        yield [0]
        return
    lengths = np.array([len(source) for source in sources])
    for rows in plan_batches(lengths, lengths, max(1, tokens), seed=0, epoch=0, shuffle=False):
        yield rows.tolist()


def engine_of(
    model: Transformer,
    trained_with: Settings,
    decode: DecodeConfig,
    device: torch.device,
    *,
    latency: bool = False,
) -> Engine:
    """As the configuration says; `auto` takes what is fastest here. All of torch's threads are used.

    With `latency`, they work on one batch together where they would else have several at once.
    """
    objective = objective_of(trained_with)
    least = shortest(objective.drops_eos)
    name = _chosen(decode.engine, system_of(trained_with.name), device)
    precision = decode.precision
    if precision == "auto":
        precision = "float16" if device.type == "cuda" else "float32"
    if name == "ctranslate2":
        from axenat.decode.ctranslate2_beam import CTranslate2Beam

        threads = torch.get_num_threads()
        return CTranslate2Beam(model, objective.banned, decode, device, precision, threads, latency)
    if name == "onnx":
        from axenat.decode.onnx_passes import OnnxPasses

        threads = torch.get_num_threads()
        at_once = 1 if latency else threads
        passes: Passes = OnnxPasses(model, objective.banned, precision=precision, threads=threads // at_once)
        return Parallel(name, passes, decode, least, device, precision, at_once)
    model = _in_precision(model, precision, device)
    if objective.causal:
        return TorchBeam(model, objective.banned, decode, device, precision)
    return Parallel(name, TorchPasses(model, objective.banned), decode, least, device, precision)


def _chosen(engine: str, system: System, device: torch.device) -> str:
    if engine not in ("auto", *engines_of(system)):
        allowed = ", ".join(("auto", *engines_of(system)))
        raise UserError(f"decode.engine {engine} does not decode a {system.name} model; allowed are {allowed}")
    if engine == "torch" or not system.engines:
        return "torch"
    fast, packages = next(iter(system.engines.items()))
    missing = [package for package in packages if find_spec(package) is None]
    if missing and engine == fast:
        raise UserError(f"decode.engine {engine} needs {missing[0]}; pip install {' '.join(packages)}, or choose torch")
    if missing or not _knows(fast, device):
        if engine == fast:
            raise UserError(f"decode.engine {engine} cannot use {device.type} here; choose torch, or --device cpu")
        return "torch"
    return fast


def _knows(engine: str, device: torch.device) -> bool:
    if engine == "onnx":
        return device.type == "cpu"
    from axenat.decode.ctranslate2_beam import supports

    return supports(device)


def _in_precision(model: Transformer, precision: str, device: torch.device) -> Transformer:
    if precision == "float32":
        return model
    if precision == "float16" and device.type == "cuda":
        return deepcopy(model).half()
    raise UserError(f"decode.precision {precision}: torch decodes in float32, and on a GPU also in float16")
