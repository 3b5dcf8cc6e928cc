"""The fused projection in float16 and bfloat16: as precise as the plain one, and never beyond their range."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.testing import assert_close

from axenat.data.vocab import EOS
from axenat.losses.axe import AxeOptions, axe_loss_and_alignment
from axenat.losses.cross_entropy import cross_entropy_loss
from axenat.losses.projected import _wide_product, axe_from_states, cross_entropy_from_states
from axenat.objectives.base import LossSum
from tests import tiny

HALVES = [(torch.float16, 0.003), (torch.bfloat16, 0.03)]


def close(one: Tensor, other: Tensor, tolerance: float) -> bool:
    return bool((one - other).norm() <= tolerance * other.norm())


@pytest.mark.parametrize(("N", "V", "frequent"), [(4096, 427, 0.08), (4096, 427, 0.0), (8000, 1000, 0.05)])
@pytest.mark.parametrize(("dtype", "tolerance"), HALVES)
def test_gradients_of_many_rows_fit_where_their_products_would_not(N, V, frequent, dtype, tolerance) -> None:
    """Thousands of rows that push one token up add up to more than float16 holds; scaled down later, to little."""
    rng = torch.Generator().manual_seed(1)
    states = F.layer_norm(torch.randn(N, 64, generator=rng) + 2 * torch.randn(64, generator=rng), (64,))
    matrix = 0.02 * torch.randn(V, 64, generator=rng)
    targets = torch.randint(V, (N,), generator=rng).masked_fill(torch.rand(N, generator=rng) < frequent, 5)
    inputs = (states.requires_grad_(), matrix.requires_grad_())
    with torch.autocast("cpu", dtype):
        fused = cross_entropy_from_states(*inputs, targets)
        plain = cross_entropy_loss(states @ matrix.T, targets).sum()
    for one, other in zip(*(torch.autograd.grad(1e-3 * loss, inputs) for loss in (fused, plain)), strict=True):
        assert one.isfinite().all() and close(one, other, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), HALVES)
@pytest.mark.parametrize(("n", "delta"), [(60, 5.0), (100, 5000.0)])
def test_many_targets_on_one_prediction_fit(n, delta, dtype, tolerance) -> None:
    """The weight of the row is n delta, up to half a million."""
    rng = torch.Generator().manual_seed(0)
    inputs = tuple(torch.randn(*shape, generator=rng).requires_grad_() for shape in ((1, 1, 8), (50, 8)))
    options = AxeOptions(blank_id=0, skip_target_penalty=delta)
    given = (torch.full((1, n), 7), torch.tensor([1]), torch.tensor([n]), None, options)
    with torch.autocast("cpu", dtype):
        fused = axe_from_states(*inputs, *given)[0]
        plain = axe_loss_and_alignment(inputs[0] @ inputs[1].T, *given)[0].sum()
    for one, other in zip(*(torch.autograd.grad(0.1 * loss, inputs) for loss in (fused, plain)), strict=True):
        assert one.isfinite().all() and close(one, other, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), HALVES)
def test_the_logits_are_made_in_the_precision_of_autocast(dtype, tolerance) -> None:
    rng = torch.Generator().manual_seed(0)
    states, matrix = (torch.randn(rows, 16, generator=rng) for rows in (50, 30))
    targets = torch.arange(50) % 30
    with torch.autocast("cpu", dtype):
        fused = cross_entropy_from_states(states, matrix, targets)
        plain = cross_entropy_loss(states @ matrix.T, targets).sum()
    exact = cross_entropy_from_states(states, matrix, targets)
    assert_close(fused, plain, rtol=1e-6, atol=0.0)
    assert abs(fused - exact) > 10 * abs(fused - plain)


def updates(projection: str) -> tuple[list[bool], float, float]:
    """Which of some steps with loss scaling were taken, the last scale and the last loss a token."""
    B, n, V = 160, 13, 50
    model = tiny.model(size=V, max_positions=20, init_std=0.02).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-4)
    objective, scaler = tiny.objective("axe", observe="none", projection=projection), torch.amp.GradScaler("cpu")
    rng, taken = torch.Generator().manual_seed(1), []
    for _ in range(15):
        tokens: Any = torch.randint(5, V, (2, B, n), generator=rng).masked_fill(torch.arange(n) == n - 2, 9)
        batch = tiny.batch(*tokens.tolist())
        canvas = objective.canvas(batch, rng)
        with torch.autocast("cpu", torch.float16):
            output = model(batch.source, batch.source_lengths, canvas.ids, canvas.lengths, causal=False)
            loss: LossSum = objective.score(output, batch, canvas)
        scaler.scale(loss.total).backward()
        scaler.unscale_(optimiser)
        taken.append(all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None))
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()
    assert EOS in batch.target
    return taken, scaler.get_scale(), float(loss.total.detach() / loss.count)


def test_loss_scaling_finds_its_scale_as_with_the_plain_projection() -> None:
    (fused, scale, loss), (plain, plain_scale, plain_loss) = (updates(name) for name in ("fused", "plain"))
    assert fused[-1] and fused == plain and scale == plain_scale
    assert loss == pytest.approx(plain_loss, rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_on_a_gpu_a_product_of_halves_is_asked_for_in_float32(dtype) -> None:
    """No GPU is needed to see that torch knows the call."""
    with FakeTensorMode():
        gradient, states = (torch.empty(4, size, dtype=dtype, device="cuda") for size in (7, 3))
        product = _wide_product(gradient.T, states)
    assert product.dtype == torch.float32 and product.shape == (7, 3) and product.is_cuda
