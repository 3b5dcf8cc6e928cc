"""The fused projection gives the numbers of the plain one, and never holds all logits."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from axenat.losses import projected
from axenat.losses.axe import Alignment, AxeOptions, axe_loss_and_alignment
from axenat.losses.cross_entropy import cross_entropy_loss
from axenat.losses.projected import axe_from_states, cross_entropy_from_states

BLANK, V, D = 0, 11, 5
OPTIONS = AxeOptions(blank_id=BLANK, skip_target_penalty=2.0, label_smoothing=0.1)
seeds = st.integers(0, 10_000)
parts = st.sampled_from([1, 3 * V, 7 * V, 1000 * V])  # logits at once: from one sentence to all


def batch(seed: int, B: int, n: int, m: int, dtype: torch.dtype = torch.float64) -> dict[str, Any]:
    """Arguments of `axe_from_states` for ragged sentences, some of them without targets or predictions."""
    rng = torch.Generator().manual_seed(seed)
    prediction_lengths = torch.randint(0, m + 1, (B,), generator=rng)
    target_lengths = torch.randint(0, n + 1, (B,), generator=rng) * (prediction_lengths > 0)
    return {
        "states": torch.randn(B, m, D, generator=rng, dtype=torch.float64).to(dtype).requires_grad_(),
        "output_matrix": torch.randn(V, D, generator=rng, dtype=torch.float64).to(dtype).requires_grad_(),
        "targets": torch.randint(1, V, (B, n), generator=rng),
        "prediction_lengths": prediction_lengths,
        "target_lengths": target_lengths,
        "observed": None,
    }


def plain_axe(states: Tensor, output_matrix: Tensor, **more: Any) -> tuple[Tensor, Tensor, Alignment]:
    losses, alignment = axe_loss_and_alignment(states @ output_matrix.T, **more)
    return losses.sum(), losses.detach(), alignment


def gradients(loss: Tensor, sentences: dict[str, Any]) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, (sentences["states"], sentences["output_matrix"]))


@given(seed=seeds, B=st.integers(1, 6), n=st.integers(0, 5), m=st.integers(1, 5), at_once=parts,
       smoothing=st.sampled_from([0.0, 0.1]), observes=st.booleans())  # fmt: skip
def test_fused_axe_is_plain_axe(seed, B, n, m, at_once, smoothing, observes) -> None:
    sentences = batch(seed, B, m if observes else n, m)
    if observes:
        rng = torch.Generator().manual_seed(seed)
        inside = torch.arange(m) < sentences["target_lengths"][:, None]
        sentences["observed"] = inside & (torch.rand(B, m, generator=rng) < 0.5)
    options = AxeOptions(blank_id=BLANK, skip_target_penalty=2.0, label_smoothing=smoothing)
    total, losses, alignment = axe_from_states(**sentences, options=options, at_once=at_once)
    twin_total, twin_losses, twin = plain_axe(**sentences, options=options)
    assert_close(total, twin_total)
    assert_close(losses, twin_losses)
    assert torch.equal(alignment.prediction_of_target, twin.prediction_of_target)
    assert torch.equal(alignment.operator, twin.operator)
    assert torch.equal(alignment.skipped_prediction, twin.skipped_prediction)
    assert_close(gradients(total, sentences), gradients(twin_total, sentences))


@given(seed=seeds, B=st.integers(1, 6), m=st.integers(1, 5), at_once=parts, smoothing=st.sampled_from([0.0, 0.1]))
def test_a_gpu_does_without_asking_what_a_cpu_may_ask(seed, B, m, at_once, smoothing) -> None:
    """Lengths come from the CPU, and rows that pay nothing are multiplied with the others."""
    sentences = batch(seed, B, m, m)
    rng = torch.Generator().manual_seed(seed)
    inside = torch.arange(m) < sentences["target_lengths"][:, None]
    sentences["observed"] = inside & (torch.rand(B, m, generator=rng) < 0.8)
    options = AxeOptions(blank_id=BLANK, skip_target_penalty=2.0, label_smoothing=smoothing)
    asked, losses, _ = axe_from_states(**sentences, options=options, at_once=at_once)
    expected = gradients(asked, sentences)
    known = sentences["prediction_lengths"].clone()
    with mock.patch.object(projected, "MOSTLY", {}), mock.patch.object(Tensor, "nonzero", None):
        total, same, _ = axe_from_states(
            **sentences, options=options, at_once=at_once, check=False, lengths_on_cpu=known
        )
    assert_close(total, asked)
    assert_close(same, losses)
    assert_close(gradients(total, sentences), expected)


@given(seed=seeds, N=st.integers(1, 20), at_once=parts, smoothing=st.sampled_from([0.0, 0.1]))
def test_fused_cross_entropy_is_plain_cross_entropy(seed, N, at_once, smoothing) -> None:
    sentences = batch(seed, 1, 1, N)
    states, matrix, targets = sentences["states"][0], sentences["output_matrix"], torch.arange(N) % V
    fused = cross_entropy_from_states(states, matrix, targets, label_smoothing=smoothing, at_once=at_once)
    plain = cross_entropy_loss(states @ matrix.T, targets, label_smoothing=smoothing).sum()
    assert_close(fused, plain)
    assert_close(gradients(fused, sentences), gradients(plain, sentences))


def test_the_gradient_is_that_of_finite_differences() -> None:
    sentences = batch(3, 4, 4, 4)

    def total(states: Tensor, matrix: Tensor) -> Tensor:
        changed = sentences | {"states": states, "output_matrix": matrix}
        return axe_from_states(**changed, options=OPTIONS, at_once=9 * V)[0]

    assert torch.autograd.gradcheck(total, (sentences["states"], sentences["output_matrix"]))


def test_a_scaled_loss_has_a_scaled_gradient_and_steps_add_up() -> None:
    """As loss scaling and gradient accumulation want it."""
    one, two = batch(1, 3, 4, 4), batch(2, 3, 4, 4)
    two |= {"states": one["states"], "output_matrix": one["output_matrix"]}
    for sentences in (one, two):
        (8.0 * axe_from_states(**sentences, options=OPTIONS)[0]).backward()
    expected = sum(plain_axe(**sentences, options=OPTIONS)[0] for sentences in (one, two))
    assert_close((one["states"].grad, one["output_matrix"].grad), gradients(8.0 * expected, one))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.05), (torch.float16, 0.01)])
def test_autocast_changes_the_products_and_nothing_else(dtype, tolerance) -> None:
    sentences = batch(5, 4, 6, 6, torch.float32)
    with torch.autocast("cpu", dtype=dtype):
        total, losses, _ = axe_from_states(**sentences, options=OPTIONS)
        cross_entropy = cross_entropy_from_states(
            sentences["states"][0], sentences["output_matrix"], sentences["targets"][0], label_smoothing=0.1
        )
    exact = plain_axe(**sentences, options=OPTIONS)[0]
    assert total.dtype == losses.dtype == cross_entropy.dtype == torch.float32
    assert_close(total, exact, rtol=tolerance, atol=0.0)
    for fused, plain in zip(gradients(total, sentences), gradients(exact, sentences), strict=True):
        assert fused.dtype == torch.float32
        assert (fused - plain).norm() <= tolerance * plain.norm()
    assert all(gradient.isfinite().all() for gradient in gradients(cross_entropy, sentences))


def test_small_probabilities_survive_float16() -> None:
    """A gradient of 1e-8 lies below the least float16; lifted, it is still there."""
    size = 40_000
    states, matrix = torch.ones(1, 1, requires_grad=True), torch.zeros(size, 1, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16):
        cross_entropy_from_states(states, matrix, torch.tensor([0])).backward()
    assert matrix.grad is not None
    assert_close(matrix.grad[1:], torch.full((size - 1, 1), 1 / size), rtol=0.01, atol=0.0)


class Largest(TorchDispatchMode):
    """The sizes of all tensors that are made, the rows of all products with the vocabulary, and how many products.

    `paying` are the rows whose gradients are added up.
    """

    def __init__(self) -> None:
        super().__init__()
        self.size = self.rows = self.products = self.paying = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        self.products += function.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm_)
        if function.overloadpacket is torch.ops.aten.addmm_:
            self.paying += args[1].shape[1]
        if isinstance(made, Tensor):
            self.size = max(self.size, made.numel())
            if function is torch.ops.aten.mm.out and made.shape[1] == V:
                self.rows += len(made)
        return made


def test_no_tensor_of_all_logits_is_made_and_padding_is_never_projected() -> None:
    sentences = batch(1, 40, 8, 8, torch.float32)
    with Largest() as seen:
        total, _, _ = axe_from_states(**sentences, options=OPTIONS, at_once=10 * V)
        gradients(total, sentences)
    assert seen.size <= 40 * 8 * 8  # the costs (B m n) of tokens this short; all logits are 40 * 8 * 11
    assert seen.rows == sentences["prediction_lengths"].clamp(min=1).sum()


def test_on_a_cpu_rows_that_pay_nothing_are_not_multiplied() -> None:
    """All tokens but one are observed, and each is aligned with itself."""
    targets, lengths = torch.arange(1, 7)[None], torch.tensor([6])
    states, matrix = (20.0 * torch.eye(V)[targets]).requires_grad_(), torch.eye(V).requires_grad_()
    with Largest() as seen:
        axe_from_states(states, matrix, targets, lengths, lengths, targets != 3, OPTIONS)
    assert seen.paying == 1


def test_without_gradient_none_is_made() -> None:
    sentences = batch(1, 4, 4, 4, torch.float32)
    with torch.no_grad(), Largest() as seen:
        total, _, _ = axe_from_states(**sentences, options=OPTIONS)
    assert not total.requires_grad
    assert seen.products == 1  # the logits; two more would be gradients
    assert_close(total, plain_axe(**sentences, options=OPTIONS)[0].detach())
    with Largest() as seen:
        axe_from_states(**sentences, options=OPTIONS)
    assert seen.products == 3


def test_what_makes_no_sense_is_refused_and_the_sentence_named() -> None:
    sentences = batch(1, 4, 3, 3)
    sentences["prediction_lengths"], sentences["target_lengths"] = torch.full((4,), 3), torch.full((4,), 2)
    with torch.no_grad():
        sentences["states"][2, 1] = torch.nan
    with pytest.raises(ValueError, match="sentence 2, prediction 1 hold nan or infinity"):
        axe_from_states(**sentences, options=OPTIONS, at_once=4 * V)


class Toy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.states, self.tokens = nn.Embedding(4, D), nn.Embedding(V, D)

    def forward(self) -> tuple[Tensor, Tensor]:
        return self.states.weight[None], self.tokens.weight


def distributed_gradients(rank: int, folder: str) -> None:
    """Two ranks, a sentence each; the gradient is their mean."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    found = {}
    for name, axe in (("fused", axe_from_states), ("plain", plain_axe)):
        torch.manual_seed(1)
        model = DistributedDataParallel(Toy())
        states, matrix = model()
        lengths = torch.tensor([4 - rank])
        targets = torch.tensor([[1, 2, 3, 4]]) + rank
        axe(states, matrix, targets=targets, prediction_lengths=lengths, target_lengths=lengths, observed=None,
            options=OPTIONS)[0].backward()  # fmt: skip
        found[name] = [parameter.grad for parameter in model.parameters()]
    assert_close(found["fused"], found["plain"])
    torch.save(found["fused"], f"{folder}/{rank}")
    torch.distributed.destroy_process_group()


def test_ranks_exchange_the_fused_gradients(tmp_path) -> None:
    run: Callable[..., Any] = torch.multiprocessing.spawn
    run(distributed_gradients, args=(str(tmp_path),), nprocs=2)
    one, two = (torch.load(tmp_path / str(rank), weights_only=True) for rank in range(2))
    assert_close(one, two)
