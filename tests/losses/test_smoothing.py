"""Label smoothing of AXE: outside the minimum it leaves alignments alone, inside it is part of every cost."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from axenat.losses.axe import FIRST_COLUMNS, SMOOTHINGS, AxeOptions, Op, axe_align, axe_loss, axe_loss_and_alignment
from axenat.losses.projected import axe_from_states
from tests.reference.axe import algorithm_1, smoothed_inside
from tests.reference.sentences import BACKENDS, BLANK, QUICK, V, edges, example, full, lengths, ragged

SHARE = 0.2
sizes = st.tuples(st.integers(1, 5), st.integers(0, 6), st.integers(1, 6))
seeds = st.integers(0, 10_000)
deltas = st.sampled_from([1.0, 1.5, 2.0, 5.0])
backends = pytest.mark.parametrize("backend", BACKENDS)


def inside(**more) -> dict[str, object]:
    return {"blank_id": BLANK, "label_smoothing": SHARE, "smoothing": "inside", **more}


def is_algorithm_1_on_smoothed_costs(backend: str, column: str, delta: float, batch: dict[str, Tensor]) -> None:
    how = inside(skip_target_penalty=delta, first_column=column, backend=backend)
    rows = []
    sizes = zip(batch["prediction_lengths"].tolist(), batch["target_lengths"].tolist(), strict=True)
    for b, (m, n) in enumerate(sizes):
        costs = smoothed_inside(batch["logits"][b, :m].log_softmax(-1).tolist(), SHARE)
        rows.append(algorithm_1(costs, batch["targets"][b, :n].tolist(), BLANK, delta, column))
    expected = torch.tensor(rows, dtype=torch.float64)
    assert_close(axe_loss(**batch, **how), expected)
    assert_close(axe_align(**batch, **how).total, expected)


@pytest.mark.parametrize("backend", QUICK)
@pytest.mark.parametrize("column", FIRST_COLUMNS)
@settings(max_examples=20)
@given(seed=seeds, size=sizes, delta=deltas)
def test_inside_is_algorithm_1_on_smoothed_costs(backend, column, seed, size, delta) -> None:
    is_algorithm_1_on_smoothed_costs(backend, column, delta, ragged(seed, *size))


@backends
@pytest.mark.parametrize("column", FIRST_COLUMNS)
def test_inside_is_algorithm_1_on_smoothed_costs_at_every_edge(backend, column) -> None:
    is_algorithm_1_on_smoothed_costs(backend, column, 2.5, edges())


@given(seed=seeds, n=st.integers(1, 6), delta=deltas, pattern=st.integers(0, 63))
def test_inside_an_observed_token_is_free_at_its_own_position(seed, n, delta, pattern) -> None:
    """Section 3.3: P_i(Y_i) = 1, so there is nothing to smooth in that cell; any other is smoothed."""
    logits, targets = example(seed, 1, n, n)
    observed = torch.tensor([[bool(pattern >> i & 1) for i in range(n)]])
    costs = torch.tensor(smoothed_inside(logits[0].log_softmax(-1).tolist(), SHARE), dtype=torch.float64)
    # The slow truth: as many extra tokens as positions, each free at its own.
    extra = costs[:, targets[0]].clone()
    extra.diagonal().masked_fill_(observed[0], 0.0)
    own = [V + i for i in range(n)]
    best = algorithm_1(torch.cat([costs, extra], dim=1).tolist(), own, BLANK, delta)
    arguments = full(logits, targets, observed=observed, **inside(skip_target_penalty=delta))
    assert_close(axe_loss(**arguments), logits.new_tensor([best]))


@given(seed=seeds, size=sizes, delta=deltas)
def test_outside_is_the_plain_loss_and_the_mean_cost_of_each_prediction(seed, size, delta) -> None:
    batch = ragged(seed, *size)
    how = {"blank_id": BLANK, "skip_target_penalty": delta}
    log_probs = batch["logits"].log_softmax(-1)
    means = torch.stack([-log_probs[b, :m].mean(-1).sum() for b, m in enumerate(batch["prediction_lengths"].tolist())])
    expected = (1 - SHARE) * axe_loss(**batch, **how) + SHARE * means
    assert_close(axe_loss(**batch, **how, label_smoothing=SHARE), expected)


@given(seed=seeds, size=sizes, delta=deltas)
def test_inside_never_costs_less_and_with_one_target_the_same(seed, size, delta) -> None:
    """Every prediction is paid for at least once; only a skipped target pays for its prediction again."""
    batch = ragged(seed, *size)
    how = {"blank_id": BLANK, "skip_target_penalty": delta, "label_smoothing": SHARE}
    outside, within = (axe_loss(**batch, **how, smoothing=smoothing) for smoothing in SMOOTHINGS)
    assert (outside <= within + 1e-9).all()
    single = batch["target_lengths"] <= 1
    assert_close(outside[single], within[single])


@backends
def test_inside_a_sharp_prediction_may_not_take_the_second_target_that_it_took_outside(backend) -> None:
    # P_2 would rather be blank and leave Y_2 to P_1, which is sharp, so that smoothing it a second time is dear.
    logits = torch.zeros(1, 2, V, dtype=torch.float64)
    logits[0, 0, [1, 2]] = torch.tensor([9.0, 8.0], dtype=torch.float64)
    logits[0, 1, [2, BLANK]] = torch.tensor([0.0, 3.0], dtype=torch.float64)
    arguments = full(logits, torch.tensor([[1, 2]]), label_smoothing=0.3, backend=backend)
    outside, within = (axe_align(**arguments, smoothing=smoothing) for smoothing in SMOOTHINGS)
    assert Op.SKIP_TARGET in outside.operator[0].tolist()
    assert within.operator.tolist() == [[Op.ALIGN, Op.ALIGN]]


@pytest.mark.parametrize("some_observed", [False, True])
def test_the_gradient_inside_is_that_of_finite_differences(some_observed) -> None:
    logits, targets = example(3, 3, 4, 4)
    observed = torch.tensor([[True, False, False, True], [False] * 4, [False, True, True, False]])

    def loss(logits: Tensor) -> Tensor:
        return axe_loss(
            logits, targets, prediction_lengths=lengths(4, 2, 3), target_lengths=lengths(4, 0, 3),
            observed=observed if some_observed else None, **inside(skip_target_penalty=2.0),
        )  # fmt: skip

    assert torch.autograd.gradcheck(loss, logits.requires_grad_())


@given(seed=seeds, B=st.integers(1, 6), m=st.integers(1, 5), at_once=st.sampled_from([1, 3 * V, 1000 * V]),
       observes=st.booleans())  # fmt: skip
def test_fused_inside_is_plain_inside(seed, B, m, at_once, observes) -> None:
    rng = torch.Generator().manual_seed(seed)
    states, matrix = (
        torch.randn(*shape, generator=rng, dtype=torch.float64).requires_grad_() for shape in ((B, m, 3), (V, 3))
    )
    targets = torch.randint(1, V, (B, m), generator=rng)
    sizes = torch.randint(1, m + 1, (B,), generator=rng)
    seen = (torch.arange(m) < sizes[:, None]) & (torch.rand(B, m, generator=rng) < 0.5)
    options = AxeOptions(**inside(skip_target_penalty=2.0))
    arguments = (targets, sizes, sizes, seen if observes else None, options)
    total, losses, alignment = axe_from_states(states, matrix, *arguments, at_once=at_once)
    plain, twin = axe_loss_and_alignment(states @ matrix.T, *arguments)
    assert_close(losses, plain.detach())
    assert torch.equal(alignment.operator, twin.operator)
    assert torch.equal(alignment.prediction_of_target, twin.prediction_of_target)
    assert_close(torch.autograd.grad(total, (states, matrix)), torch.autograd.grad(plain.sum(), (states, matrix)))


@given(seed=seeds, size=sizes)
def test_without_smoothing_it_does_not_matter_where_it_acts(seed, size) -> None:
    batch = ragged(seed, *size)
    one, two = (axe_loss(**batch, blank_id=BLANK, smoothing=smoothing) for smoothing in SMOOTHINGS)
    assert torch.equal(one, two)


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="smoothing must be one of outside, inside, got 'beside'"):
        AxeOptions(blank_id=BLANK, smoothing="beside")
