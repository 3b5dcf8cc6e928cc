"""Forward, loss and backward of every objective never make the CPU wait for the device, whatever the options are.

Model, batch and canvas are on the meta device, where a tensor has a shape and no values. What a shape depends on must
therefore come from the CPU, along with batch and canvas.
"""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from axenat.data.batches import Batch, to_device
from axenat.objectives.base import Objective
from axenat.objectives.masking import predicted
from axenat.objectives.registry import objective_of
from axenat.systems.registry import SYSTEMS, keys_read, settings_of
from axenat.systems.spec import Settings
from tests import tiny
from tests.support.rehearsal import rehearsal

SENTENCES = [[6, 7, 8], [9], [6, 6, 6, 6, 7], [8]], [[7, 8], [9, 9, 8, 6, 7], [], [6]]
BATCH = tiny.batch(*SENTENCES)
TOGETHER = {
    "projection": ("fused", "plain"),
    "observe": ("some", "none"),
    "score": ("hidden", "all"),
    "eos": ("keep", "drop"),
}
ALONE = (
    {"label_smoothing": 0.0},
    {"skip_target_penalty": 3.0},
    {"first_column": "strict"},
    {"length_loss_weight": 0.0},
    {"smoothing": "inside"},
    {"normalise": "sentences"},
    {"most_hidden": "all_but_one"},
    {"observe": "none", "train_length_multiplier": 0.5},
    {"observe": "none", "train_length_multiplier": 1.4},
)
each_name = pytest.mark.parametrize("name", SYSTEMS)


def configs(name: str) -> set[Settings]:
    """All values of some options together, and the others with both projections, as far as the objective reads them."""
    tried: list[dict[str, Any]] = [dict(zip(TOGETHER, values, strict=True)) for values in product(*TOGETHER.values())]
    tried += [{**one, "projection": projection} for one in ALONE for projection in TOGETHER["projection"]]
    read = [{key: one[key] for key in one if key in keys_read(name)} for one in tried]
    return {settings_of(name, **options) for options in read}


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rehearse(objective: Objective, **model: Any) -> list[str]:
    """The places at which a step waits; the shapes of its results are right in any case."""
    small = {"dropout": 0.3, "decoder_layers": 1, **model}
    network = tiny.model(predicts_length=objective.predicts_length, **small).train().to("meta")
    with rehearsal() as waits:
        canvas, batch = objective.canvas(BATCH, generator()).to("meta"), BATCH.to("meta")
        output = network(batch.source, batch.source_lengths, canvas.ids, canvas.lengths, objective.causal)
        loss = objective.score(output, batch, canvas)
        loss.total.backward()
    assert {(value.device.type, value.shape) for value in loss.sums().values()} == {("meta", ())}
    assert all(weight.grad is not None and weight.grad.is_meta for weight in network.parameters())
    return waits


@each_name
def test_no_option_makes_a_step_wait(name) -> None:
    waits = {config: rehearse(objective_of(config)) for config in configs(name)}
    assert {config: found for config, found in waits.items() if found} == {}


@each_name
def test_every_option_is_rehearsed(name) -> None:
    """A new one fails here until it has a value above."""
    keys = set(keys_read(name)) - {"name"}
    assert all(len({getattr(config, key) for config in configs(name)}) > 1 for key in keys)


@each_name
@pytest.mark.parametrize(
    "model", [{"recompute": True}, {"joint": False}, {"dropout": 0.0}, {"init": "mask_predict"}], ids=str
)
def test_no_option_of_the_model_makes_a_step_wait(name, model) -> None:
    assert rehearse(tiny.objective(name), **model) == []


@each_name
@pytest.mark.parametrize("eos", ["keep", "drop"])
@pytest.mark.parametrize("multiplier", [1.0, 1.4])
def test_a_canvas_is_drawn_on_the_cpu_wherever_the_batch_is(name, eos, multiplier) -> None:
    if multiplier != 1.0 and name != "axe":
        return
    objective = tiny.objective(name, eos=eos, observe="none", train_length_multiplier=multiplier)
    expected = objective.canvas(BATCH, generator())
    with rehearsal() as waits:
        found = objective.canvas(BATCH.to("meta"), generator())
    assert waits == []
    assert all(torch.equal(getattr(found, key), getattr(expected, key)) for key in ("ids", "lengths", "observed"))


# The rehearsal itself

ON_META = torch.zeros(3, device="meta")
ON_CPU = torch.tensor([0, 1])


@pytest.mark.parametrize(
    "read",
    [
        lambda: ON_META.sum().item(),
        lambda: float(ON_META.sum()),
        lambda: bool((ON_META > 0).any()),
        lambda: ON_META.tolist(),
        lambda: ON_META.cpu(),
        lambda: torch.zeros(3).copy_(ON_META),
        lambda: ON_CPU.to("meta"),
        lambda: torch.zeros(2, device="meta").copy_(ON_CPU),
        lambda: torch.tensor([1, 2], device="meta"),
        lambda: ON_META.new_tensor([1, 2]),
    ],
)
def test_the_rehearsal_notices_a_wait(read) -> None:
    with rehearsal() as waits:
        read()
    assert len(waits) == 1


@pytest.mark.parametrize(
    "operation",
    [
        lambda: ON_META.nonzero(),
        lambda: ON_META[ON_META > 0],
        lambda: ON_META.long().repeat_interleave(2).bincount(),
        lambda: torch.repeat_interleave(ON_META.long()),
        lambda: ON_META[ON_CPU],
        lambda: ON_META.index_select(0, ON_CPU),
        lambda: ON_META * torch.zeros(3),
    ],
)
def test_the_rehearsal_ends_at_what_a_gpu_could_not_go_on_with(operation) -> None:
    with pytest.raises((NotImplementedError, RuntimeError, AssertionError)), rehearsal():
        operation()


def test_the_rehearsal_goes_on_where_a_gpu_does() -> None:
    with rehearsal() as waits:
        copy = ON_CPU.to("meta", non_blocking=True)
        ON_META.new_zeros(2).copy_(ON_CPU, True)
        assert (copy * 2 + torch.full((), 3, device="meta")).shape == (2,)
        assert torch.repeat_interleave(copy, output_size=4).shape == (4,)
        assert ON_CPU.sum().item() == 1 and ON_CPU.nonzero().tolist() == [[1]]
    assert waits == []


# What comes from the CPU


def equal(one: Batch, two: Batch) -> bool:
    pairs = zip(one.tensors().values(), two.tensors().values(), strict=True)
    return all(torch.equal(mine, other) for mine, other in pairs)


@pytest.mark.parametrize("eos", ["keep", "drop"])
def test_a_batch_on_a_device_knows_its_values_on_the_cpu(eos) -> None:
    moved = BATCH.to("meta")
    assert all(tensor.is_meta for tensor in moved.tensors().values())
    assert moved.on_cpu is BATCH and moved.to("meta").on_cpu is BATCH and BATCH.on_cpu is BATCH
    assert equal(predicted(moved, eos).on_cpu, predicted(BATCH, eos))


def test_back_on_the_cpu_a_batch_is_its_own_truth() -> None:
    """Also one that was never there, whose copy must not be asked on its device."""
    made_there = Batch(**BATCH.to("meta").tensors())
    assert made_there.on_cpu is made_there
    with rehearsal():
        back = made_there.to("cpu")
    assert back.on_cpu is back
    canvas = tiny.objective("axe").canvas(BATCH, generator())
    assert canvas.to("meta").to("meta").on_cpu is canvas.on_cpu is canvas
    with rehearsal():
        back_again = canvas.to("meta").to("cpu")
    assert back_again.on_cpu is back_again


@pytest.mark.parametrize("device", ["cuda", torch.device("cuda", 1)])
def test_a_gpu_fetches_from_pinned_memory_and_nobody_waits(device, monkeypatch) -> None:
    """Seen without a GPU: from other memory, or without being asked, torch would wait for all work before."""
    calls: list[Any] = []

    def to(tensor: Tensor, device: torch.device, non_blocking: bool = False) -> Tensor:
        calls.append((tensor.tolist(), str(device), non_blocking))
        return tensor

    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: tensor + 1)
    monkeypatch.setattr(Tensor, "to", to)
    to_device(torch.tensor([1, 2]), device)
    assert calls == [([2, 3], str(torch.device(device)), True)]
    calls.clear()
    to_device(torch.tensor([1, 2]), "cpu")
    assert calls == [([1, 2], "cpu", False)]
