"""The two passes of a conditional masked model on ONNX Runtime: quicker than torch on a CPU."""

from collections.abc import Sequence
from typing import NamedTuple

import onnxruntime as ort
import torch
from torch import Tensor

from axenat.data.vocab import PAD
from axenat.decode import passes
from axenat.decode.onnx_graph import Program, chooser, filler, reader
from axenat.decode.passes import Sources, allowed_ids
from axenat.files import UserError
from axenat.losses.rows import within
from axenat.model.transformer import Transformer

PRECISIONS = ("float32", "int8")


class Layout(NamedTuple):
    """How rows, the tokens of all sentences, lie among their padding."""

    rows: Tensor  # (R,) where each row lies in the flattened batch
    place: Tensor  # (B m) which row lies there; any at padding
    positions: Tensor  # (R,) in their sentences

    @classmethod
    def of(cls, lengths: Tensor, m: int) -> "Layout":
        inside = within(lengths, m)
        rows = inside.flatten().nonzero().flatten()
        place = (inside.flatten().cumsum(0) - 1).view(inside.shape)
        return cls(rows, place, rows % m)


class Memory(NamedTuple):
    """What the decoder attends to."""

    values: dict[str, ort.OrtValue]  # keys and values of each layer
    lengths: Tensor


class OnnxPasses:
    def __init__(
        self, model: Transformer, banned: tuple[int, ...], *, precision: str = "float32", threads: int
    ) -> None:
        if precision not in PRECISIONS:
            raise UserError(f"the precision is {precision!r}; allowed are {', '.join(PRECISIONS)}")
        int8 = precision == "int8"
        self.max_positions = model.max_positions
        allowed = allowed_ids(len(model.output_matrix), banned)
        self.num_allowed = len(allowed)
        self.reader = Session(reader(model, int8=int8), threads)
        self.filler = Session(filler(model, int8=int8), threads)
        self.chooser = Session(chooser(model.output_matrix, allowed, int8=int8), threads)

    def read(self, source: Tensor, source_lengths: Tensor) -> Sources:
        B, s = source.shape
        rows, place, positions = Layout.of(source_lengths, s)
        # The LENGTH token stands before each source; its B rows stand before all others.
        first = torch.arange(B)
        found = self.reader(
            tokens=source.flatten()[rows],
            positions=positions,
            rows=torch.cat([first * (s + 1), rows + rows // s + 1]),
            place=torch.cat([first[:, None], place + B], 1),
            lengths=(source_lengths + 1).int(),
            source_place=place,
        )
        length_logits = torch.from_numpy(found.pop("length_logits").numpy())
        length_logits[:, 0] = -torch.inf
        return Sources(Memory(found, source_lengths.int()), length_logits)

    def fill(self, canvas: Tensor, lengths: Tensor, sources: Sources) -> tuple[Tensor, Tensor]:
        memory: Memory = sources.memory
        m = canvas.shape[1]
        if m > self.max_positions:
            raise UserError(f"model.max_positions is {self.max_positions}, but a canvas has {m} positions; raise it")
        rows, place, positions = Layout.of(lengths, m)
        states = self.filler(
            tokens=canvas.flatten()[rows],
            positions=positions,
            rows=rows,
            place=place,
            lengths=lengths.int(),
            place_of_source=place.view(len(memory.lengths), -1),
            source_lengths=memory.lengths,
            **memory.values,
        )["states"]
        ids = torch.full_like(canvas, PAD)
        log_probs = torch.zeros(canvas.shape)
        found = [self.chooser(states=part) for part in self._slices(states)]
        ids.view(-1)[rows] = torch.cat([torch.from_numpy(part["ids"].numpy()) for part in found])
        log_probs.view(-1)[rows] = torch.cat([torch.from_numpy(part["log_probs"].numpy()) for part in found])
        return ids, log_probs

    def _slices(self, states: ort.OrtValue) -> Sequence[ort.OrtValue | Tensor]:
        at_once = max(1, passes.LOGITS_AT_ONCE // self.num_allowed)
        if states.shape()[0] <= at_once:
            return [states]
        return torch.from_numpy(states.numpy()).split(at_once)


class Session:
    """A program, ready to run."""

    def __init__(self, program: Program, threads: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        weights = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in program.weights.items()}
        options.add_external_initializers(list(weights), list(weights.values()))
        self.weights = weights  # the session looks into their memory
        self.session = ort.InferenceSession(
            program.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.outputs = [output.name for output in self.session.get_outputs()]

    def __call__(self, **inputs: Tensor | ort.OrtValue) -> dict[str, ort.OrtValue]:
        given = {
            name: ort.OrtValue.ortvalue_from_numpy(value.numpy()) if isinstance(value, Tensor) else value
            for name, value in inputs.items()
        }
        found = self.session.run_with_ort_values(self.outputs, given)
        return dict(zip(self.outputs, found, strict=True))
