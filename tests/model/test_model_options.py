"""Options of the model: another start, another epsilon, less memory; and a mask that asks no device to wait."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from axenat.data.vocab import PAD
from axenat.files import UserError
from axenat.model.attention import CrossAttention, SelfAttention
from axenat.model.transformer import padding_mask
from tests import tiny

ARGUMENTS = (
    torch.tensor([[6, 7, 8, 2], [9, 2, PAD, PAD]]), torch.tensor([4, 2]),
    torch.tensor([[4, 7, 4], [4, PAD, PAD]]), torch.tensor([3, 1]), False,
)  # fmt: skip


def attention_inputs(model: nn.Module) -> set[str]:
    """Names of the weights that make queries, keys and values."""
    return {
        name for name, _ in model.named_parameters() if name.endswith(("qkv.weight", "query.weight", "value.weight"))
    }


def test_mask_predict_leaves_queries_keys_and_values_at_xaviers_bounds_and_starts_the_rest_alike() -> None:
    width = 64
    normal, other = (
        dict(tiny.model(size=500, width=width, heads=4, init_std=0.05, init=init).named_parameters())
        for init in ("normal", "mask_predict")
    )
    # The slow truth: torch's own Xavier on the one matrix that Mask-Predict has.
    fused = nn.init.xavier_uniform_(torch.empty(3 * width, width))
    for name in attention_inputs(tiny.model()):
        weight = other[name]
        assert weight.abs().max() <= (6 / (4 * width)) ** 0.5
        assert weight.std().item() == pytest.approx(fused.std().item(), rel=0.05)
        assert weight.abs().max().item() == pytest.approx(fused.abs().max().item(), rel=0.01)
    for name in normal.keys() - attention_inputs(tiny.model()):
        assert torch.equal(normal[name], other[name]), name


def test_each_attention_names_all_that_makes_its_queries_keys_and_values() -> None:
    model = tiny.model()
    named = [
        linear.weight
        for module in model.modules()
        if isinstance(module, SelfAttention | CrossAttention)
        for linear in module.inputs()
    ]
    parameters = dict(model.named_parameters())
    assert {id(weight) for weight in named} == {id(parameters[name]) for name in attention_inputs(model)}


def test_every_layer_normalisation_has_the_epsilon_of_the_configuration() -> None:
    for changes, eps in (({}, nn.LayerNorm(1).eps), ({"layer_norm_eps": 1e-12}, 1e-12)):
        norms = [module for module in tiny.model(**changes).modules() if isinstance(module, nn.LayerNorm)]
        assert len(norms) == 2 + 2 * 3 and all(norm.eps == eps for norm in norms)


def gradients(recompute: bool, dropout: float, precision: torch.dtype) -> dict[str, torch.Tensor]:
    model = tiny.model(dropout=dropout, recompute=recompute).train()
    torch.manual_seed(7)
    with torch.autocast("cpu", dtype=precision, enabled=precision != torch.float32):
        output = model(*ARGUMENTS)
        loss = output.logits().float().square().sum() + output.length_logits[:, 1:].square().sum()
    loss.backward()
    after = torch.rand(1)  # what is drawn next must not depend on it either
    return {"loss": loss.detach(), "after": after} | {name: weight.grad for name, weight in model.named_parameters()}


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_recomputing_changes_no_bit_of_loss_and_gradients(dropout, precision) -> None:
    plain, recomputed = (gradients(recompute, dropout, precision) for recompute in (False, True))
    for name, value in plain.items():
        assert torch.equal(value, recomputed[name]), name


def held(recompute: bool, train: bool = True) -> int:
    """Numbers kept for the way back."""
    model = tiny.model(recompute=recompute, encoder_layers=3, decoder_layers=3).train(train)
    sizes: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(*ARGUMENTS)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    return sum(size for place, size in sizes.items() if place not in own)


def test_recomputing_holds_less_in_training_and_acts_there_alone() -> None:
    assert held(recompute=True) < 0.5 * held(recompute=False)
    assert held(recompute=True, train=False) == held(recompute=False, train=False)


class Waits(TorchDispatchMode):
    """How often a value is asked for."""

    number = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.number += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


def test_a_mask_is_left_out_on_the_cpu_alone_and_elsewhere_no_value_is_asked_for() -> None:
    assert padding_mask(torch.tensor([3, 3]), 3) is None
    with Waits() as waits:
        mask = padding_mask(torch.tensor([3, 3], device="meta"), 3)
    assert mask is not None and mask.shape == (2, 1, 1, 3)
    assert waits.number == 0


@pytest.mark.parametrize("lengths", [[3, 3], [3, 1]])
def test_a_compiled_mask_is_one_graph_and_the_same_mask(lengths) -> None:
    sizes = torch.tensor(lengths)
    compiled = torch.compile(padding_mask, backend="eager", fullgraph=True)(sizes, 3)
    assert compiled.tolist() == [[[[j < length for j in range(3)]]] for length in lengths]


def test_a_canvas_longer_than_the_positions_is_refused_in_words() -> None:
    model = tiny.model(max_positions=4)
    canvas = torch.full((1, 5), 4)
    with pytest.raises(UserError, match=r"max_positions is 4, but a canvas has 5 positions; raise it"):
        model(*ARGUMENTS[:2], canvas.expand(2, 5), torch.tensor([5, 5]), False)


def test_a_mask_that_hides_nothing_changes_nothing() -> None:
    """So what a GPU computes with one is what a CPU computes without."""
    layer = tiny.model().encoder[0]
    states = torch.randn(2, 3, 16, generator=torch.Generator().manual_seed(1))
    assert_close(layer(states, torch.ones(2, 1, 1, 3, dtype=torch.bool)), layer(states, None))
