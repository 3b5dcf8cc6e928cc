"""A layer is torch's own of the same weights; in training each of its blocks passes the dropout."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from axenat.data.vocab import PAD
from tests import tiny

STATES = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(1))
ENCODED = torch.randn(2, 4, 16, generator=torch.Generator().manual_seed(2))
LENGTHS, SOURCE_LENGTHS = torch.tensor([5, 3]), torch.tensor([2, 4])
SHAPE = {"d_model": 16, "nhead": 2, "dim_feedforward": 32, "activation": "gelu", "batch_first": True}


def made(**changes) -> nn.Module:
    """Nothing at its first value: norms and biases are random as well."""
    model = tiny.model(encoder_layers=2, layer_norm_eps=1e-3, **changes)
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def hidden(lengths: torch.Tensor, size: int) -> torch.Tensor:
    """(B size), True at padding, as torch's layers want it."""
    return torch.arange(size) >= lengths[:, None]


def copied(theirs: nn.Module, ours: nn.Module) -> nn.Module:
    weights = {
        "self_attn.in_proj_weight": ours.attention.qkv.weight,
        "self_attn.in_proj_bias": ours.attention.qkv.bias,
        **{f"self_attn.out_proj.{name}": value for name, value in ours.attention.out.named_parameters()},
        **{f"linear1.{name}": value for name, value in ours.feed_forward[0].named_parameters()},
        **{f"linear2.{name}": value for name, value in ours.feed_forward[2].named_parameters()},
    }
    for number, norm in enumerate(ours.norms, start=1):
        weights |= {f"norm{number}.{name}": value for name, value in norm.named_parameters()}
    if hasattr(ours, "cross_attention"):
        cross = ours.cross_attention
        for name in ("weight", "bias"):
            parts = [getattr(part, name) for part in (cross.query, cross.key_value)]
            weights[f"multihead_attn.in_proj_{name}"] = torch.cat(parts)
            weights[f"multihead_attn.out_proj.{name}"] = getattr(cross.out, name)
    theirs.load_state_dict(weights)
    return theirs.eval()


def test_an_encoder_layer_is_torchs_own() -> None:
    for layer in made().encoder:
        theirs = copied(nn.TransformerEncoderLayer(**SHAPE, layer_norm_eps=1e-3), layer)
        padding = hidden(LENGTHS, 5)
        found = layer(STATES, ~padding[:, None, None])
        expected = theirs(STATES, src_key_padding_mask=padding)
        assert_close(found[~padding], expected[~padding])


@pytest.mark.parametrize("causal", [True, False])
def test_a_decoder_layer_is_torchs_own(causal) -> None:
    for layer in made().decoder:
        theirs = copied(nn.TransformerDecoderLayer(**SHAPE, layer_norm_eps=1e-3), layer)
        padding, source_padding = hidden(LENGTHS, 5), hidden(SOURCE_LENGTHS, 4)
        found = layer(STATES, ~padding[:, None, None], causal, layer.memory(ENCODED), ~source_padding[:, None, None])
        right = torch.ones(5, 5, dtype=torch.bool).triu(1) if causal else None
        expected = theirs(
            STATES,
            ENCODED,
            tgt_mask=right,
            tgt_key_padding_mask=padding,
            memory_key_padding_mask=source_padding,
        )
        assert_close(found[~padding], expected[~padding])


def in_turn(norms: nn.ModuleList, states: torch.Tensor) -> torch.Tensor:
    for norm in norms:
        states = norm(states)
    return states


def with_dropout_of_all(**changes) -> nn.Module:
    """What passes a dropout becomes zero."""
    model = made(**changes).train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 1.0
    return model


def test_in_training_every_block_of_every_layer_passes_its_dropout() -> None:
    """Without the blocks, the norms are left."""
    model = with_dropout_of_all()
    for layer in model.encoder:
        assert_close(layer(STATES, None), in_turn(layer.norms, STATES))
    for layer in model.decoder:
        memory, expected = layer.memory(ENCODED), in_turn(layer.norms, STATES)
        assert_close(layer(STATES, None, False, memory, None), expected)
        assert_close(layer.step(STATES[:, :1], None, memory, None)[0], expected[:, :1])


def test_in_training_the_embeddings_of_both_sides_pass_the_dropout() -> None:
    model, nothing = with_dropout_of_all(), torch.zeros(1, 1, 16)
    source, canvas = torch.tensor([[6, 7, 8]]), torch.tensor([[4, 9]])
    encoded = model.encode(source, torch.tensor([3]))
    states = nothing
    for layer in model.encoder:
        states = in_turn(layer.norms, states)
    for layer, (keys, values) in zip(model.decoder, encoded.memory, strict=True):
        expected = layer.memory(states.expand(1, 3, 16))
        assert_close((keys, values), expected)
    states = nothing
    for layer in model.decoder:
        states = in_turn(layer.norms, states)
    assert_close(model.decode(canvas, torch.tensor([2]), encoded, False), states.expand(1, 2, 16))
    stepped, _ = model.decode_step(canvas[:, :1], 0, [None] * len(model.decoder), encoded)
    assert_close(stepped, states)


def test_every_dropout_has_the_rate_of_the_configuration_and_none_acts_otherwise() -> None:
    model = made(dropout=0.37)
    rates = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    assert rates == [0.37] * (1 + len(model.encoder) + len(model.decoder))
    arguments = (torch.tensor([[6, 7, 2]]), torch.tensor([3]), torch.tensor([[4, 7]]), torch.tensor([2]), False)
    assert torch.equal(model(*arguments).states, made(dropout=0.0)(*arguments).states)


def test_the_source_has_its_own_positions_and_words() -> None:
    """Swapped with those of the target, a model that was trained before would be another one."""
    model = tiny.model(joint=False)
    source, canvas = torch.tensor([[6, 7, 8, PAD]]), torch.tensor([[4, 9]])
    encoded = model.encode(source, torch.tensor([3]))
    sum(keys.sum() + values.square().sum() for keys, values in encoded.memory).backward()
    names = {name for name, weight in model.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert {"source_tokens.weight", "source_positions.weight"} <= names
    assert not {"target_tokens.weight", "target_positions.weight"} & names
    model.zero_grad()
    with torch.no_grad():
        encoded = model.encode(source, torch.tensor([3]))
    model.decode(canvas, torch.tensor([2]), encoded, False).square().sum().backward()
    names = {name for name, weight in model.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert {"target_tokens.weight", "target_positions.weight"} <= names
    assert not {"source_tokens.weight", "source_positions.weight"} & names
