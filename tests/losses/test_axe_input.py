"""What AXE takes: any precision, empty sentences; and what it refuses, in words."""

import math

import pytest
import torch
from torch.testing import assert_close

from axenat.losses.axe import axe_loss
from tests.reference.sentences import BACKENDS, BLANK, V, example, full, lengths

backends = pytest.mark.parametrize("backend", BACKENDS)


@backends
def test_a_sentence_without_targets_pays_for_its_blanks_and_one_without_anything_pays_nothing(backend) -> None:
    logits, targets = example(2, 2, 3, 4)
    sizes = {"prediction_lengths": lengths(4, 0), "target_lengths": lengths(0, 0)}
    logits.requires_grad_()
    loss = axe_loss(logits, targets, **sizes, blank_id=BLANK, backend=backend)
    blanks = -logits.log_softmax(-1)[0, :, BLANK].sum()
    assert_close(loss, torch.stack([blanks, torch.zeros_like(blanks)]))
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert not gradient[1].any()


@backends
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_narrow_logits_are_summed_in_float32_and_get_their_gradient_back(backend, dtype) -> None:
    logits, targets = example(4, 3, 6, 6, dtype)
    logits.requires_grad_()
    loss = axe_loss(**full(logits, targets, label_smoothing=0.1, skip_target_penalty=2.0, backend=backend))
    exact = full(logits.detach().double(), targets, label_smoothing=0.1, skip_target_penalty=2.0)
    assert loss.dtype == torch.float32
    assert_close(loss.double(), axe_loss(**exact), rtol=1e-5, atol=1e-5)
    loss.sum().backward()
    assert logits.grad is not None and logits.grad.dtype == dtype and logits.grad.isfinite().all()


@backends
def test_tokens_that_can_hardly_be_predicted_are_avoided_without_harm(backend) -> None:
    """Enormous costs where the best path never goes leave no nan behind."""
    logits, targets = example(6, 2, 3, 3, torch.float32)
    logits[:, :, BLANK] = -1e30
    logits[:, :, 1] = -1e30
    targets = targets.clamp(min=2)
    targets[1, 2] = 1  # padding
    logits.requires_grad_()
    sizes = {"prediction_lengths": lengths(3, 2), "target_lengths": lengths(3, 2)}
    loss = axe_loss(logits, targets, **sizes, blank_id=BLANK, backend=backend)
    assert loss.isfinite().all()
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_logits_that_are_not_finite_are_refused_and_named(value, dtype) -> None:
    logits, targets = example(6, 3, 3, 3, dtype)
    logits[1, 2, 4] = value
    with pytest.raises(ValueError, match="logits must be finite, but those of sentence 1, prediction 2 hold"):
        axe_loss(**full(logits, targets))
    shorter = full(logits, targets) | {"prediction_lengths": lengths(3, 2, 3), "target_lengths": lengths(3, 2, 3)}
    assert axe_loss(**shorter).isfinite().all()  # padding may hold anything


def test_the_same_input_gives_the_same_bits() -> None:
    logits, targets = example(7, 4, 6, 6, torch.float32)
    logits.requires_grad_()
    grads = [torch.autograd.grad(axe_loss(**full(logits, targets)).sum(), logits)[0] for _ in range(2)]
    assert torch.equal(*grads)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"skip_target_penalty": 0.5}, "skip_target_penalty must be >= 1, got 0.5"),
        ({"skip_target_penalty": math.nan}, "skip_target_penalty must be >= 1, got nan"),
        ({"blank_id": V}, rf"blank_id must be a token of the vocabulary \(0 to {V - 1}\), got {V}"),
        ({"blank_id": -1}, "blank_id must be a token of the vocabulary"),
        ({"prediction_lengths": lengths(4, 1)}, r"prediction_lengths must be 0 to 3, .* got \[4, 1\]"),
        ({"target_lengths": lengths(4, 1)}, r"target_lengths must be 0 to 3, .* got \[4, 1\]"),
        ({"target_lengths": lengths(-1, 1)}, r"target_lengths must be 0 to 3, .* got \[-1, 1\]"),
        ({"targets": torch.tensor([[1, 2, V], [1, 1, 1]])}, rf"targets must be tokens .* \(0 to {V - 1}\), got {V}"),
        ({"targets": torch.tensor([[1, 2, -1], [1, 1, 1]])}, "targets must be tokens of the vocabulary"),
        ({"label_smoothing": 1.0}, "label_smoothing must be at least 0 and below 1, got 1.0"),
        ({"first_column": "loose"}, "first_column must be one of paper, strict, got 'loose'"),
        ({"prediction_lengths": lengths(0, 3)}, "needs at least one prediction"),
        ({"backend": "cuda"}, "backend must be one of auto, torch, numba, triton, got 'cuda'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(changes, sentence) -> None:
    arguments = {**full(*example(1, 2, 3, 3)), **changes}
    with pytest.raises(ValueError, match=sentence):
        axe_loss(**arguments)


def test_observed_needs_a_prediction_for_each_target() -> None:
    logits, targets = example(1, 1, 3, 4)
    with pytest.raises(ValueError, match="observed needs as many predictions as targets, got 4 and 3"):
        axe_loss(**full(logits, targets, observed=torch.zeros(1, 3, dtype=torch.bool)))
