"""What AXE takes: any precision, empty sentences; and what it refuses, in words."""

import math

import pytest
import torch
from torch.testing import assert_close

from axenat.losses.axe import AxeOptions, axe_align, axe_loss, axe_loss_and_alignment
from axenat.losses.projected import axe_from_states
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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_least_number_is_finite_though_sums_of_it_are_not(dtype, smoothing) -> None:
    """A common mask; what it hides is never paid for, but a little by smoothing."""
    least = torch.finfo(dtype).min
    logits, targets = example(6, 3, 3, 3, dtype)
    logits[:, :, 4:] = least
    logits[2, 2, 0] = torch.nan  # padding
    logits.requires_grad_()
    sizes = {"prediction_lengths": lengths(3, 3, 2), "target_lengths": lengths(3, 3, 2)}
    batch = full(logits, targets.clamp(max=3), label_smoothing=smoothing) | sizes
    losses = axe_loss(**batch)
    if smoothing:
        expected = smoothing * lengths(3, 3, 2).double() * (3 / V) * -least
    else:
        expected = axe_loss(**batch | {"logits": logits[:, :, :4]}).detach()
    assert_close(losses, expected.to(losses.dtype))
    (gradient,) = torch.autograd.grad(losses.sum(), logits)
    assert gradient.isfinite().all()


def test_the_same_input_gives_the_same_bits() -> None:
    logits, targets = example(7, 4, 6, 6, torch.float32)
    logits.requires_grad_()
    grads = [torch.autograd.grad(axe_loss(**full(logits, targets)).sum(), logits)[0] for _ in range(2)]
    assert torch.equal(*grads)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"skip_target_penalty": 0.5}, "skip_target_penalty must be a finite number >= 1, got 0.5"),
        ({"skip_target_penalty": math.nan}, "skip_target_penalty must be a finite number >= 1, got nan"),
        ({"skip_target_penalty": math.inf}, "skip_target_penalty must be a finite number >= 1, got inf"),
        ({"skip_target_penalty": 1e39}, r"skip_target_penalty must be a finite number >= 1, got 1e\+39"),
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


NO = torch.zeros(2, 3, dtype=torch.bool)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"predictions": torch.zeros(2, 7)}, r"logits or states must be floats .* got float32 \(2, 7\)"),
        ({"predictions": torch.zeros(2, 3, 7).long()}, r"logits or states must be floats .* got int64 \(2, 3, 7\)"),
        ({"targets": torch.ones(1, 3).long()}, r"targets must be whole numbers \(2, n\), got int64 \(1, 3\)"),
        ({"targets": torch.ones(3, 3).long()}, r"targets must be whole numbers \(2, n\), got int64 \(3, 3\)"),
        ({"targets": torch.ones(2).long()}, r"targets must be whole numbers \(2, n\), got int64 \(2,\)"),
        ({"targets": torch.ones(2, 3)}, r"targets must be whole numbers \(2, n\), got float32 \(2, 3\)"),
        ({"prediction_lengths": lengths(3)}, r"prediction_lengths must be whole numbers \(2\), got int64 \(1,\)"),
        ({"prediction_lengths": torch.ones(2)}, r"prediction_lengths must be whole numbers .* got float32 \(2,\)"),
        ({"target_lengths": lengths(3, 3, 3)}, r"target_lengths must be whole numbers \(2\), got int64 \(3,\)"),
        ({"target_lengths": lengths(3, 3)[:, None]}, r"target_lengths must be whole numbers .* got int64 \(2, 1\)"),
        ({"target_lengths": torch.tensor(3)}, r"target_lengths must be whole numbers .* got int64 \(\)"),
        ({"observed": NO[:1]}, r"observed must be booleans \(2, 3\) as the targets, got bool \(1, 3\)"),
        ({"observed": NO.int()}, r"observed must be booleans \(2, 3\) as the targets, got int32 \(2, 3\)"),
        ({"targets": torch.ones(2, 2).long(), "observed": NO}, "observed needs as many predictions as targets, got 3"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_refused_in_words_whether_values_are_checked_or_not(
    changes, sentence, fused, check
) -> None:
    """A kernel would read memory that is not its own."""
    given = {
        "predictions": torch.zeros(2, 3, V), "targets": torch.ones(2, 3).long(), "prediction_lengths": lengths(3, 3),
        "target_lengths": lengths(3, 3), "observed": None,
    } | changes  # fmt: skip
    predictions = [given.pop("predictions")] + [torch.zeros(V, V)] * fused
    axe = axe_from_states if fused else axe_loss_and_alignment
    with pytest.raises(ValueError, match=sentence):
        axe(*predictions, **given, options=AxeOptions(blank_id=BLANK), check=check)


@backends
@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_narrow_whole_numbers_are_as_good_as_wide_ones(backend, dtype) -> None:
    logits, targets = example(3, 2, 4, 5)
    batch = full(logits, targets, backend=backend)
    names = ("targets", "prediction_lengths", "target_lengths")
    narrow = batch | {name: batch[name].to(dtype) for name in names}
    assert torch.equal(axe_loss(**narrow), axe_loss(**batch))
    options = AxeOptions(blank_id=BLANK, backend=backend)
    arguments = [logits, torch.eye(V, dtype=logits.dtype), *(narrow[name] for name in names), None, options]
    assert_close(axe_from_states(*arguments)[1], axe_loss(**batch))


@backends
@pytest.mark.parametrize(("B", "n", "m"), [(0, 3, 3), (0, 0, 0), (2, 0, 0), (2, 3, 0), (2, 0, 3)])
def test_without_sentences_predictions_or_targets_there_is_nothing_to_pay(backend, B, n, m) -> None:
    states = torch.zeros(B, m, V, requires_grad=True)
    matrix = torch.eye(V, requires_grad=True)
    none = torch.zeros(B, dtype=torch.long)
    given = (torch.ones(B, n).long(), none, none, None, AxeOptions(blank_id=BLANK, backend=backend))
    losses, alignment = axe_loss_and_alignment(states, *given)
    total, fused_losses, fused_alignment = axe_from_states(states, matrix, *given)
    for loss, aligned in ((losses, alignment), (fused_losses, fused_alignment)):
        assert_close(loss, torch.zeros(B))
        assert aligned.prediction_of_target.shape == (B, n) and aligned.skipped_prediction.shape == (B, m)
        assert (aligned.operator == -1).all() and aligned.operator.shape == (B, n)
        assert not aligned.skipped_prediction.any() and torch.equal(aligned.total, torch.zeros(B))
    gradients = torch.autograd.grad(losses.sum() + total, (states, matrix))
    assert not any(gradient.any() for gradient in gradients)


@backends
@pytest.mark.parametrize("default", [torch.float32, torch.bfloat16])
def test_delta_is_as_exact_as_the_costs(backend, default) -> None:
    """The loss is summed along the path with weights, A[n, m] in the table: 1.1 must be the same number to both."""
    logits, targets = example(5, 1, 5, 2)
    batch = full(logits, targets, skip_target_penalty=1.1, backend=backend)
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        loss, total = axe_loss(**batch), axe_align(**batch).total
    finally:
        torch.set_default_dtype(before)
    assert_close(loss, total, rtol=1e-14, atol=0.0)


def test_observed_needs_a_prediction_for_each_target() -> None:
    logits, targets = example(1, 1, 3, 4)
    with pytest.raises(ValueError, match="observed needs as many predictions as targets, got 4 and 3"):
        axe_loss(**full(logits, targets, observed=torch.zeros(1, 3, dtype=torch.bool)))
