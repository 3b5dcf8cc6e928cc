"""Every key of `model` reaches the network: its parameters, its outputs, its dropout, its memory."""

import dataclasses
from typing import Any

import pytest
import torch
from torch import nn

from axenat.config import ModelConfig
from axenat.data.vocab import Vocab
from axenat.decode.translator import RunFolder, new_model
from axenat.estimates import num_parameters
from axenat.model import transformer
from axenat.model.transformer import Transformer
from axenat.records import as_plain
from axenat.systems.registry import MASKED
from tests import tiny
from tests.support.wiring import Look, looks_at_keys, unnoticed

BASE = as_plain(tiny.model_config(dropout=0.3, width=12, heads=2, hidden=20))
TARGETS = [[7, 8, 9], [6], [9, 9, 8, 6, 7, 8]]
BATCH = tiny.batch([[6, 7, 8, 9], [9], [6, 7, 6]], TARGETS)


def network(config: ModelConfig) -> Transformer:
    """As training and decoding make it; 6 + 5 words of the source, and 6 + 4 of the target."""
    run = dataclasses.replace(tiny.run_config("masked"), model=config)
    vocabs = (Vocab.build(["a b c d e"]), Vocab.build(["f g h i"]))
    torch.manual_seed(1)
    return new_model(RunFolder("toy", run, "en", "de", False), tiny.objective("masked"), *vocabs)


def plain(tensor: torch.Tensor) -> list[Any]:
    return tensor.detach().flatten().tolist()


def outputs(model: Transformer) -> list[Any]:
    torch.manual_seed(2)
    found = model(BATCH.source, BATCH.source_lengths, BATCH.target, BATCH.target_lengths, False)
    return [plain(found.states), plain(found.length_logits)]


def parameters(config: ModelConfig) -> Any:
    return {name: (list(value.shape), plain(value)) for name, value in network(config).state_dict().items()}


def shapes(config: ModelConfig) -> Any:
    return [list(value.shape) for value in network(config).parameters()]


def predicted(config: ModelConfig) -> Any:
    return outputs(network(config).eval())


def trained(config: ModelConfig) -> Any:
    return outputs(network(config).train())


def recomputed(config: ModelConfig) -> Any:
    """How many layers are run by torch's checkpointing."""
    layers = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformer, "checkpoint", lambda layer, *rest, **how: layers.append(layer) or layer(*rest))
        outputs(network(config).train())
    return len(layers)


def estimated(config: ModelConfig) -> int:
    return num_parameters(MASKED, config, 11, 10, joint=False)


SIZES = frozenset({"width", "encoder_layers", "decoder_layers", "hidden", "max_positions"})
WEIGHTS = SIZES | {"init", "init_std"}
LOOKS = [
    Look(name="shapes", kind=ModelConfig, see=shapes, sees=SIZES, base=BASE),
    Look(name="parameters", kind=ModelConfig, see=parameters, sees=WEIGHTS, base=BASE),
    Look(name="predicted", kind=ModelConfig, see=predicted, sees=WEIGHTS | {"heads", "layer_norm_eps"}, base=BASE),
    Look(
        name="trained", kind=ModelConfig, see=trained, base=BASE,
        sees=WEIGHTS | {"heads", "layer_norm_eps", "dropout"},
    ),
    Look(name="recomputed", kind=ModelConfig, see=recomputed, sees=frozenset({"recompute"}), base=BASE),
    Look(name="estimated", kind=ModelConfig, see=estimated, sees=SIZES, base=BASE),
]  # fmt: skip


@looks_at_keys(*LOOKS)
def test_a_key_changes_exactly_what_it_is_about(look, key) -> None:
    look.check(key)


def test_every_key_is_noticed() -> None:
    assert unnoticed(ModelConfig, *LOOKS) == []


def test_recomputing_runs_every_layer_and_changes_no_number() -> None:
    again = {**BASE, "recompute": True, "encoder_layers": 3}
    assert recomputed(ModelConfig(**again)) == 3 + BASE["decoder_layers"]
    assert trained(ModelConfig(**again)) == trained(ModelConfig(**{**again, "recompute": False}))


def test_one_rate_and_one_epsilon_hold_for_the_whole_network() -> None:
    modules = list(network(ModelConfig(**{**BASE, "dropout": 0.25, "layer_norm_eps": 0.125})).modules())
    assert {module.p for module in modules if isinstance(module, nn.Dropout)} == {0.25}
    assert {module.eps for module in modules if isinstance(module, nn.LayerNorm)} == {0.125}


def test_each_size_is_of_its_own_part() -> None:
    sizes = {"width": 12, "heads": 3, "hidden": 20, "encoder_layers": 1, "decoder_layers": 4, "max_positions": 7}
    made = network(ModelConfig(**{**BASE, **sizes}))
    assert (len(made.encoder), len(made.decoder)) == (1, 4)
    assert {layer.attention.heads for layer in [*made.encoder, *made.decoder]} == {3}
    assert {layer.feed_forward[0].out_features for layer in [*made.encoder, *made.decoder]} == {20}
    assert made.source_positions.weight.shape == made.target_positions.weight.shape == (7, 12)
    assert made.lengths.weight.shape == (8, 12)


def test_without_joint_subwords_each_side_has_the_vocabulary_of_its_own() -> None:
    """Six special tokens, and 5 words of the source or 4 of the target."""
    made = network(ModelConfig(**BASE))
    assert (len(made.source_tokens.weight), len(made.target_tokens.weight)) == (11, 10)
