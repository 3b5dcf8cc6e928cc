"""The two passes of a conditional masked model on ONNX Runtime: quicker than torch on a CPU."""

from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
import torch
from numpy.typing import NDArray
from torch import Tensor

from axenat.data.vocab import PAD
from axenat.decode import passes
from axenat.decode.onnx_graph import Program, chooser, filler, reader
from axenat.decode.passes import Sources
from axenat.files import UserError
from axenat.model.transformer import Transformer

PRECISIONS = ("float32", "int8")
SLOWER = ("SkipLayerNormFusion",)  # would undo what the graph does on purpose

Array = NDArray[Any]


class Memory(NamedTuple):
    """What the decoder attends to."""

    values: dict[str, Array]  # keys and values of each layer
    lengths: Array


class OnnxPasses:
    def __init__(
        self, model: Transformer, banned: tuple[int, ...], *, precision: str = "float32", threads: int
    ) -> None:
        if precision not in PRECISIONS:
            raise UserError(f"decode.precision {precision}: onnx cannot do it; allowed are {', '.join(PRECISIONS)}")
        int8 = precision == "int8"
        self.max_positions, self.vocabulary = model.max_positions, len(model.output_matrix)
        assert model.lengths is not None
        self.length_token = _numpy(model.lengths.weight[:1])
        self.source = _numpy(model.source_tokens.weight), _numpy(model.source_positions.weight)
        self.target = _numpy(model.target_tokens.weight), _numpy(model.target_positions.weight)
        self.reader = Session(reader(model, int8=int8), threads)
        self.filler = Session(filler(model, int8=int8), threads)
        self.chooser = Session(chooser(model.output_matrix, banned, int8=int8), threads)

    def read(self, source: Tensor, source_lengths: Tensor) -> Sources:
        B, s = source.shape
        lengths = source_lengths.numpy()
        rows, place = layout(lengths, s)
        # The LENGTH token stands before each source; its B rows stand before all others.
        first = np.arange(B)
        found = self.reader(
            embedded=np.concatenate([self.length_token.repeat(B, 0), embedded(source, rows, *self.source)]),
            rows=np.concatenate([first * (s + 1), rows + rows // s + 1]),
            place=np.concatenate([first[:, None], place + B], 1),
            lengths=(lengths + 1).astype(np.int32),
            source_place=place,
        )
        length_logits = torch.from_numpy(found.pop("length_logits"))
        length_logits[:, 0] = -torch.inf
        return Sources(Memory(found, lengths.astype(np.int32)), length_logits)

    def fill(self, canvas: Tensor, lengths: Tensor, sources: Sources) -> tuple[Tensor, Tensor]:
        memory: Memory = sources.memory
        m = canvas.shape[1]
        if m > self.max_positions:
            raise UserError(f"model.max_positions is {self.max_positions}, but a canvas has {m} positions; raise it")
        rows, place = layout(lengths.numpy(), m)
        states = self.filler(
            embedded=embedded(canvas, rows, *self.target),
            rows=rows,
            place=place,
            lengths=lengths.numpy().astype(np.int32),
            place_of_source=place.reshape(len(memory.lengths), -1),
            source_lengths=memory.lengths,
            **memory.values,
        )["states"]
        ids, log_probs = np.full(canvas.shape, PAD), np.zeros(canvas.shape, np.float32)
        at_once = max(1, passes.LOGITS_AT_ONCE // self.vocabulary)
        for start in range(0, len(rows), at_once):
            part = slice(start, start + at_once)
            best = self.chooser(states=states[part])
            ids.flat[rows[part]], log_probs.flat[rows[part]] = best["ids"], best["log_probs"]
        return torch.from_numpy(ids), torch.from_numpy(log_probs)


def layout(lengths: Array, m: int) -> tuple[Array, Array]:
    """Where each row, a token of some sentence, lies in the flattened batch (R,), and which row lies where (B m).

    At padding any row will do. In numpy: at batch one torch would take longer over it than over a layer.
    """
    inside = np.arange(m) < lengths[:, None]
    return np.flatnonzero(inside), (inside.cumsum() - 1).reshape(inside.shape)


def embedded(ids: Tensor, rows: Array, tokens: Array, positions: Array) -> Array:
    """(R D). Outside the graphs, which would copy the tables."""
    return tokens.take(ids.numpy().take(rows), 0) + positions.take(rows % ids.shape[1], 0)


def _numpy(weight: Tensor) -> Array:
    return weight.detach().cpu().numpy()


class Session:
    """A program, ready to run."""

    def __init__(self, program: Program, threads: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads sleep
        options.log_severity_level = 3  # errors only
        weights = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in program.weights.items()}
        options.add_external_initializers(list(weights), list(weights.values()))
        self.weights = weights  # the session looks into their memory
        self.session = ort.InferenceSession(
            program.model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER
        )
        self.outputs = [output.name for output in self.session.get_outputs()]

    def __call__(self, **inputs: Array) -> dict[str, Array]:
        return dict(zip(self.outputs, self.session.run(None, inputs), strict=True))
