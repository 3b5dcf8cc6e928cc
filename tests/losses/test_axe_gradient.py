"""The gradient of aligned cross entropy: exact, one pass, none where the decoder saw the token."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from axenat.losses.axe import axe_align, axe_loss
from tests.reference.axe import algorithm_1
from tests.reference.sentences import BLANK, V, example, full, lengths, ragged

sizes = st.tuples(st.integers(1, 5), st.integers(0, 6), st.integers(1, 6))
seeds = st.integers(0, 10_000)
deltas = st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0, 5.0])


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("some_observed", [False, True])
def test_the_gradient_is_that_of_finite_differences(label_smoothing, some_observed) -> None:
    logits, targets = example(3, 3, 4, 4)
    observed = torch.tensor([[True, False, False, True], [False] * 4, [False, True, True, False]])
    target_lengths = lengths(4, 0, 3)

    def loss(logits: Tensor) -> Tensor:
        return axe_loss(
            logits,
            targets,
            prediction_lengths=lengths(4, 2, 3),
            target_lengths=target_lengths,
            blank_id=BLANK,
            skip_target_penalty=2.0,
            observed=observed if some_observed else None,
            label_smoothing=label_smoothing,
        )

    assert torch.autograd.gradcheck(loss, logits.requires_grad_())


def differentiable_axe(logits: Tensor, targets: Tensor, delta: float) -> Tensor:
    """Algorithm 1 on one sentence with a gradient through every cell."""
    log_probs, (n, m) = logits.log_softmax(-1), (len(targets), len(logits))
    A = [[torch.zeros((), dtype=logits.dtype)] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        A[i][0] = A[i - 1][0] - delta * log_probs[0, targets[i - 1]]
    for j in range(1, m + 1):
        A[0][j] = A[0][j - 1] - log_probs[j - 1, BLANK]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            token, blank = -log_probs[j - 1, targets[i - 1]], -log_probs[j - 1, BLANK]
            options = [A[i - 1][j - 1] + token, A[i][j - 1] + blank, A[i - 1][j] + delta * token]
            A[i][j] = torch.stack(options).min()
    return A[n][m]


@given(seed=seeds, n=st.integers(0, 5), m=st.integers(1, 5), delta=deltas)
def test_the_gradient_is_that_of_the_whole_table(seed, n, m, delta) -> None:
    """Random costs have no ties; on a tie, any of the best alignments gives a subgradient."""
    logits, targets = example(seed, 1, n, m)
    logits.requires_grad_()
    (fast,) = torch.autograd.grad(axe_loss(**full(logits, targets, skip_target_penalty=delta)).sum(), logits)
    (table,) = torch.autograd.grad(differentiable_axe(logits[0], targets[0], delta), logits)
    assert_close(fast, table)


def test_each_sentence_gets_the_gradient_of_its_own_loss() -> None:
    logits, targets = example(5, 3, 4, 4)
    logits.requires_grad_()
    weights = torch.tensor([1.0, 0.0, -2.5], dtype=torch.float64)
    (weighted,) = torch.autograd.grad(axe_loss(**full(logits, targets)) @ weights, logits)
    (plain,) = torch.autograd.grad(axe_loss(**full(logits, targets)).sum(), logits)
    assert_close(weighted, plain * weights[:, None, None])


@given(seed=seeds, n=st.integers(1, 6), delta=deltas, pattern=st.integers(0, 63))
def test_an_observed_token_is_free_at_its_own_position(seed, n, delta, pattern) -> None:
    """Section 3.3: P_i(Y_i) = 1 in every cell of the table that holds it."""
    logits, targets = example(seed, 1, n, n)
    observed = torch.tensor([[bool(pattern >> i & 1) for i in range(n)]])
    log_probs = logits[0].log_softmax(-1)
    # The slow truth: as many extra tokens as positions, each with probability one at its own.
    extra = torch.full((n, n), -torch.inf, dtype=torch.float64)
    own = targets[0].clone()
    for i in range(n):
        for j in range(n):
            extra[j, i] = 0.0 if i == j and observed[0, i] else log_probs[j, targets[0, i]]
        own[i] = V + i
    best = algorithm_1(torch.cat([log_probs, extra], dim=1).tolist(), own.tolist(), BLANK, delta)
    fast = axe_loss(**full(logits, targets, observed=observed, skip_target_penalty=delta))
    assert_close(fast, logits.new_tensor([best]))


def test_an_observed_token_at_its_own_position_carries_no_gradient() -> None:
    logits = torch.zeros(1, 3, V, dtype=torch.float64)
    targets = torch.tensor([[1, 2, 3]])
    logits[0, [0, 1, 2], [1, 2, 3]] = 5.0
    logits.requires_grad_()
    observed = torch.tensor([[True, False, True]])
    axe_loss(**full(logits, targets, observed=observed, label_smoothing=0.1)).sum().backward()
    assert logits.grad is not None
    assert not logits.grad[0, [0, 2]].any()
    assert logits.grad[0, 1].any()


def test_an_observed_position_still_learns_from_other_tokens_and_blanks() -> None:
    """Only (i, i) is free: a neighbour skipped on P_i, or a blank at P_i, costs as ever."""
    logits = torch.zeros(1, 2, V, dtype=torch.float64)
    logits[0, 0, 2] = 8.0  # P_1 would say Y_2 and P_2 a blank
    logits[0, 1, BLANK] = 8.0
    logits.requires_grad_()
    targets, observed = torch.tensor([[1, 2]]), torch.tensor([[True, False]])
    arguments = full(logits, targets, observed=observed)
    assert axe_align(**arguments).prediction_of_target.tolist() == [[0, 0]]
    axe_loss(**arguments).sum().backward()
    assert logits.grad is not None
    assert logits.grad[0, 0, 2] < 0 and logits.grad[0, 1, BLANK] < 0


@given(seed=seeds, size=sizes, delta=deltas, smoothing=st.sampled_from([0.05, 0.1, 0.3]))
def test_label_smoothing_acts_once_per_position_outside_the_minimum(seed, size, delta, smoothing) -> None:
    batch = ragged(seed, *size)
    arguments = {"blank_id": BLANK, "skip_target_penalty": delta}
    uniform = -batch["logits"].log_softmax(-1).mean(-1)
    inside = torch.arange(size[2]) < batch["prediction_lengths"][:, None]
    expected = (1 - smoothing) * axe_loss(**batch, **arguments) + smoothing * (uniform * inside).sum(1)
    assert_close(axe_loss(**batch, **arguments, label_smoothing=smoothing), expected)
    plain, smooth = (axe_align(**batch, **arguments, label_smoothing=value) for value in (0.0, smoothing))
    assert torch.equal(plain.prediction_of_target, smooth.prediction_of_target)
    assert torch.equal(plain.operator, smooth.operator)


def test_label_smoothing_leaves_observed_positions_out() -> None:
    logits, targets = example(1, 1, 3, 3)
    observed = torch.tensor([[False, True, False]])
    plain, smooth = (axe_loss(**full(logits, targets, observed=observed, label_smoothing=e)) for e in (0.0, 0.2))
    uniform = -logits.log_softmax(-1).mean(-1)[0, [0, 2]].sum()
    assert_close(smooth, 0.8 * plain + 0.2 * uniform)
