"""A masked model's network as three ONNX graphs: read the sources, fill the canvases, choose the tokens.

Padding is never computed: states are rows (R D) of real tokens only, which every attention lays out as sentences and
takes in again. In float32 biases have no nodes of their own: products or the fused operators after them add them.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper
from torch import Tensor, nn

from axenat.model.attention import CrossAttention, SelfAttention
from axenat.model.layers import EncoderLayer
from axenat.model.transformer import Transformer

OPSETS = {"": 21, "com.microsoft": 1}
IR_VERSION = 10  # of opset 21
FUSED = ("BiasGelu", "MatMulIntegerToFloat", "MultiHeadAttention")
FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
TYPES = {"float32": FLOAT, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int64": INT64}
# What every attention needs to know: embedded (R D), rows (R), place (B m), lengths (B).
LAID_OUT = {"embedded": (FLOAT, 2), "rows": (INT64, 1), "place": (INT64, 2), "lengths": (INT32, 1)}


class Program(NamedTuple):
    """A graph whose weights lie outside it: protobuf holds 2 GB at most, and would copy them."""

    model: ModelProto
    weights: dict[str, NDArray[Any]]


class Graph:
    """Nodes and weights while they are collected; a value is known by its name."""

    def __init__(self, *, int8: bool) -> None:
        self.int8, self.nodes, self.weights = int8, list[NodeProto](), dict[str, NDArray[Any]]()
        self.shapes: list[TensorProto] = []
        self.whole: dict[str, tuple[str, str, str, str]] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        (output,) = self.ops(1, kind, *inputs, **attributes)
        return output

    def ops(self, outputs: int, kind: str, *inputs: str, **attributes: Any) -> list[str]:
        names = [f"{kind}{len(self.nodes)}_{i}" for i in range(outputs)]
        domain = "com.microsoft" if kind in FUSED else ""
        self.nodes.append(helper.make_node(kind, inputs, names, names[0], domain=domain, **attributes))
        return names

    def weight(self, tensor: Tensor) -> str:
        name = f"weight{len(self.weights)}"
        self.weights[name] = tensor.detach().cpu().contiguous().numpy()  # the model's own memory, where it can be
        return name

    def numbers(self, *values: int) -> str:
        """Inside the graph, where shapes are inferred from them."""
        name = f"numbers{len(self.shapes)}"
        self.shapes.append(helper.make_tensor(name, INT64, [len(values)], values))
        return name

    def product(self, states: str, matrix: Tensor, bias: Tensor | None = None) -> str:
        """states (R i) @ matrix (o i) transposed, plus bias (o)."""
        added = [] if bias is None else [self.weight(bias)]
        if not self.int8:
            return self.op("Gemm", states, self.weight(matrix), *added, transB=1)
        (whole, most, unit, middle), (weight, scale) = self._quantised(states), quantised(matrix)
        parts = (whole, self.weight(weight), unit, self.weight(scale), middle)
        product = self.op("Mul", self.op("MatMulIntegerToFloat", *parts), most)
        return self.op("Add", product, *added) if added else product

    def _quantised(self, states: str) -> tuple[str, str, str, str]:
        """Whole numbers in -127..127 around 128, the largest value of each row, and the two constants.

        DynamicQuantizeMatMul has one scale for the batch, so that a sentence's translation would depend on the others.
        """
        if states not in self.whole:
            unit, middle = self.weight(torch.tensor(1 / 127)), self.weight(torch.tensor(128, dtype=torch.uint8))
            most = self.op("ReduceMax", self.op("Abs", states), self.numbers(-1), keepdims=1)
            whole = self.op("QuantizeLinear", self.op("Div", states, most), unit, middle)
            self.whole[states] = whole, most, unit, middle
        return self.whole[states]

    def program(self, inputs: dict[str, tuple[int, int]], outputs: dict[str, tuple[str, int]]) -> Program:
        """Inputs with type and rank; outputs with the value that they name, and type."""
        self.nodes += [helper.make_node("Identity", [value], [name]) for name, (value, _) in outputs.items()]
        graph = helper.make_graph(
            self.nodes,
            "axenat",
            [helper.make_tensor_value_info(name, kind, [None] * rank) for name, (kind, rank) in inputs.items()],
            [helper.make_tensor_value_info(name, kind, None) for name, (_, kind) in outputs.items()],
            self.shapes + [_outside(name, array) for name, array in self.weights.items()],
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        return Program(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), self.weights)


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers (i o) of a matrix (o i), and a scale for each of its rows.

    Seven bits: the AVX2 kernel adds pairs of products in 16 bits, where those of eight bits do not fit.
    """
    weights = matrix.detach().cpu().numpy()
    scale = np.maximum(np.abs(weights).max(1), np.finfo(np.float32).tiny) / 63
    return torch.from_numpy(np.rint(weights / scale[:, None]).astype(np.int8).T), torch.from_numpy(scale)


def _outside(name: str, array: NDArray[Any]) -> TensorProto:
    tensor = TensorProto(name=name, dims=array.shape, data_type=TYPES[str(array.dtype)])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="memory")
    return tensor


def reader(model: Transformer, *, int8: bool) -> Program:
    """Keys and values of every decoder layer (B s D), and length logits, from embedded sources.

    The rows of the B LENGTH tokens come first, then those of the source tokens.
    """
    assert model.lengths is not None
    g = Graph(int8=int8)
    states = "embedded"
    layers: list[EncoderLayer] = list(model.encoder)  # type: ignore[arg-type]
    for layer in layers:
        states = _add_and_norm(g, states, _self_attention(g, layer.attention, states), layer.norms[0])
        states = _add_and_norm(g, states, _feed_forward(g, layer.feed_forward, states), layer.norms[1])
    number = g.op("Shape", "lengths")
    first = g.op("Slice", states, g.numbers(0), number)
    memory = g.op("Slice", states, number, g.numbers(np.iinfo(np.int64).max))
    outputs = {"length_logits": (g.op("Gemm", first, g.weight(model.lengths.weight), transB=1), FLOAT)}
    for i, attention in enumerate(layer.cross_attention for layer in model.decoder_layers()):
        key, value = attention.key_value.weight.chunk(2)
        outputs[f"key{i}"] = g.op("Gather", g.product(memory, key), "source_place"), FLOAT
        outputs[f"value{i}"] = g.op("Gather", g.product(memory, value), "source_place"), FLOAT
    return g.program({**LAID_OUT, "source_place": (INT64, 2)}, outputs)


def filler(model: Transformer, *, int8: bool) -> Program:
    """The decoder's states (R D) from embedded canvases, those of one source side by side."""
    g = Graph(int8=int8)
    states = "embedded"
    inputs = {**LAID_OUT, "place_of_source": (INT64, 2), "source_lengths": (INT32, 1)}
    for i, layer in enumerate(model.decoder_layers()):
        states = _add_and_norm(g, states, _self_attention(g, layer.attention, states), layer.norms[0])
        attended = _cross_attention(g, layer.cross_attention, states, f"key{i}", f"value{i}")
        states = _add_and_norm(g, states, attended, layer.norms[1])
        states = _add_and_norm(g, states, _feed_forward(g, layer.feed_forward, states), layer.norms[2])
        inputs |= {f"key{i}": (FLOAT, 3), f"value{i}": (FLOAT, 3)}
    return g.program(inputs, {"states": (states, FLOAT)})


def chooser(matrix: Tensor, banned: tuple[int, ...], *, int8: bool) -> Program:
    """The likeliest token at each row of states, and its log-probability; a bias leaves none to what is banned."""
    g = Graph(int8=int8)
    bias = torch.zeros(len(matrix))
    bias[list(banned)] = -torch.inf
    log_probs = g.op("LogSoftmax", g.product("states", matrix, bias))  # several times quicker than ReduceLogSumExp
    best, ids = g.ops(2, "TopK", log_probs, g.numbers(1))
    return g.program({"states": (FLOAT, 2)}, {"ids": (ids, INT64), "log_probs": (best, FLOAT)})


def _self_attention(g: Graph, attention: SelfAttention, states: str) -> str:
    laid_out = [g.op("Gather", g.product(states, part), "place") for part in attention.qkv.weight.chunk(3)]
    bias = g.weight(attention.qkv.bias)
    attended = g.op("MultiHeadAttention", *laid_out, bias, "lengths", num_heads=attention.heads)
    return _taken_in(g, attended, attention.out)


def _cross_attention(g: Graph, attention: CrossAttention, states: str, key: str, value: str) -> str:
    query = g.op("Gather", g.product(states, attention.query.weight), "place_of_source")
    bias = g.weight(torch.cat([attention.query.bias, attention.key_value.bias]))
    attended = g.op("MultiHeadAttention", query, key, value, bias, "source_lengths", num_heads=attention.heads)
    return _taken_in(g, attended, attention.out)


def _taken_in(g: Graph, attended: str, out: nn.Linear) -> str:
    """(B m D) -> (R D)"""
    rows = g.op("Gather", g.op("Reshape", attended, g.numbers(-1, out.in_features)), "rows")
    return g.product(rows, out.weight, out.bias)


def _feed_forward(g: Graph, layer: Any, states: str) -> str:
    into, _, out = layer
    hidden = g.op("BiasGelu", g.product(states, into.weight), g.weight(into.bias))
    return g.product(hidden, out.weight, out.bias)


def _add_and_norm(g: Graph, states: str, block: str, norm: Any) -> str:
    """Two nodes: the one that fuses them, SkipLayerNormalization, is several times slower."""
    weight, bias = g.weight(norm.weight), g.weight(norm.bias)
    return g.op("LayerNormalization", g.op("Add", states, block), weight, bias, epsilon=norm.eps)
