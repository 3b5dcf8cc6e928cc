"""Aligned cross entropy is what the paper says it is, in value, alignment and gradient."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from axenat.losses.axe import Op, axe_align, axe_loss
from tests.reference.axe import algorithm_1, equation_2, table_of_algorithm_1

BLANK, V = 0, 7
sizes = st.tuples(st.integers(1, 5), st.integers(0, 6), st.integers(1, 6))
seeds = st.integers(0, 10_000)
deltas = st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0, 5.0])
backends = pytest.mark.parametrize("backend", ["torch", "numba"])


def lengths(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.long)


def example(seed: int, B: int, n: int, m: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Logits (B m V) and targets (B n), any token but the blank."""
    rng = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(B, m, V, generator=rng, dtype=torch.float64)
    return logits.to(dtype), torch.randint(1, V, (B, n), generator=rng)


def ragged(seed: int, B: int, n: int, m: int) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(seed + 1)
    logits, targets = example(seed, B, n, m)
    prediction_lengths = torch.randint(1, m + 1, (B,), generator=rng)
    target_lengths = torch.randint(0, n + 1, (B,), generator=rng)
    return {
        "logits": logits,
        "targets": targets,
        "prediction_lengths": prediction_lengths,
        "target_lengths": target_lengths,
    }


def full(logits: Tensor, targets: Tensor, **more) -> dict[str, object]:
    """Arguments for sentences that fill their tensors."""
    sizes = torch.full((len(logits),), logits.shape[1]), torch.full((len(logits),), targets.shape[1])
    names = {"prediction_lengths": sizes[0], "target_lengths": sizes[1]}
    return {"logits": logits, "targets": targets, **names, "blank_id": BLANK, **more}


def slow(logits: Tensor, targets: Tensor, prediction_lengths: Tensor, target_lengths: Tensor, delta: float) -> Tensor:
    rows = [
        algorithm_1(logits[b, :m].log_softmax(-1).tolist(), targets[b, :n].tolist(), BLANK, delta)
        for b, (m, n) in enumerate(zip(prediction_lengths.tolist(), target_lengths.tolist(), strict=True))
    ]
    return torch.tensor(rows, dtype=torch.float64)


@backends
@given(seed=seeds, size=sizes, delta=deltas)
def test_axe_is_algorithm_1(backend, seed, size, delta) -> None:
    batch = ragged(seed, *size)
    fast = axe_loss(**batch, blank_id=BLANK, skip_target_penalty=delta, backend=backend)
    assert_close(fast, slow(**batch, delta=delta))
    assert_close(
        axe_align(**batch, blank_id=BLANK, skip_target_penalty=delta, backend=backend).total, slow(**batch, delta=delta)
    )


@backends
@given(seed=seeds, n=st.integers(0, 5), m=st.integers(1, 5))
def test_axe_is_equation_2_when_delta_is_one(backend, seed, n, m) -> None:
    logits, targets = example(seed, 1, n, m)
    best = equation_2(logits[0].log_softmax(-1).tolist(), targets[0].tolist(), BLANK)
    assert_close(axe_loss(**full(logits, targets, backend=backend)), logits.new_tensor([best]))


@given(seed=seeds, size=sizes, delta=deltas)
def test_the_alignment_is_monotone_and_its_operators_cost_the_loss(seed, size, delta) -> None:
    batch = ragged(seed, *size)
    alignment = axe_align(**batch, blank_id=BLANK, skip_target_penalty=delta)
    log_probs = batch["logits"].log_softmax(-1)
    for b in range(size[0]):
        m, n = int(batch["prediction_lengths"][b]), int(batch["target_lengths"][b])
        chosen, operators = alignment.prediction_of_target[b, :n].tolist(), alignment.operator[b, :n].tolist()
        assert chosen == sorted(chosen) and all(0 <= j < m for j in chosen)
        aligned = [j for j, op in zip(chosen, operators, strict=True) if op == Op.ALIGN]
        skipped = alignment.skipped_prediction[b, :m].nonzero().flatten().tolist()
        assert sorted(aligned + skipped) == list(range(m))  # each prediction is aligned once or skipped
        weights = [1.0 if op == Op.ALIGN else delta for op in operators]
        on_targets = sum(
            w * log_probs[b, j, y] for w, j, y in zip(weights, chosen, batch["targets"][b, :n].tolist(), strict=True)
        )
        on_blanks = sum(log_probs[b, j, BLANK] for j in skipped)
        assert_close(-torch.as_tensor(on_targets + on_blanks, dtype=torch.float64), alignment.total[b])
        assert not alignment.skipped_prediction[b, m:].any() and (alignment.operator[b, n:] == -1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(seed=seeds, size=sizes, delta=deltas)
def test_numba_and_its_torch_twin_agree_to_the_bit(dtype, seed, size, delta) -> None:
    """Equal tokens make ties, so values that differ by rounding would already align differently."""
    batch = ragged(seed, *size)
    batch["logits"] = batch["logits"].to(dtype).requires_grad_()
    results = []
    for backend in ("torch", "numba"):
        arguments = {**batch, "blank_id": BLANK, "skip_target_penalty": delta, "backend": backend}
        alignment, loss = axe_align(**arguments), axe_loss(**arguments)
        (gradient,) = torch.autograd.grad(loss.sum(), batch["logits"])
        results.append((alignment, loss, gradient))
    (one, loss, gradient), (two, twin_loss, twin_gradient) = results
    assert torch.equal(one.prediction_of_target, two.prediction_of_target)
    assert torch.equal(one.operator, two.operator)
    assert torch.equal(one.skipped_prediction, two.skipped_prediction)
    assert torch.equal(one.total, two.total)
    assert torch.equal(loss, twin_loss) and torch.equal(gradient, twin_gradient)


@backends
def test_ties_are_broken_alike_align_first(backend) -> None:
    logits, targets = torch.zeros(1, 3, V), torch.ones(1, 3, dtype=torch.long)
    alignment = axe_align(**full(logits, targets, backend=backend))
    assert alignment.prediction_of_target.tolist() == [[0, 1, 2]]
    assert (alignment.operator == Op.ALIGN).all()


FIGURE_2 = [
    # P_1 .. P_5, top 5 each, likeliest first
    "but however <blank> for and",
    "it <blank> that this for",
    "tastes makes looks taste feels",
    "delicious good tasty fine exquisite",
    "<blank> . , so though",
]


@backends
@pytest.mark.parametrize("delta", [1.0, 2.0])
def test_the_papers_figure_2_comes_out_with_its_six_operators(backend, delta) -> None:
    words = ["<blank>", *dict.fromkeys(" ".join(FIGURE_2).replace("<blank>", "").split()), "pretty"]
    probabilities = torch.full((1, 5, len(words)), 1e-4, dtype=torch.float64)
    for j, row in enumerate(FIGURE_2):
        for word, p in zip(row.split(), [0.4, 0.25, 0.15, 0.1, 0.05], strict=True):
            probabilities[0, j, words.index(word)] = p
    probabilities[0, 2, words.index("pretty")] = 0.02  # after its top 5, still the best place for it
    logits = (probabilities / probabilities.sum(-1, keepdim=True)).log()
    targets = torch.tensor([[words.index(word) for word in ["it", "tastes", "pretty", "good", "though"]]])
    arguments = full(logits, targets, skip_target_penalty=delta, backend=backend)
    alignment = axe_align(**arguments)
    assert (alignment.prediction_of_target[0] + 1).tolist() == [2, 3, 3, 4, 5]
    assert alignment.operator[0].tolist() == [Op.ALIGN, Op.ALIGN, Op.SKIP_TARGET, Op.ALIGN, Op.ALIGN]
    assert alignment.skipped_prediction[0].tolist() == [True, False, False, False, False]
    log_p = {(j + 1, word): float(logits[0, j, words.index(word)]) for j in range(5) for word in words}
    cost = log_p[1, "<blank>"] + log_p[2, "it"] + log_p[3, "tastes"] + delta * log_p[3, "pretty"]
    cost += log_p[4, "good"] + log_p[5, "though"]
    assert_close(axe_loss(**arguments), logits.new_tensor([-cost]))


@backends
@given(seed=seeds, m=st.integers(1, 6), delta=deltas)
def test_delta_never_multiplies_a_skipped_prediction(backend, seed, m, delta) -> None:
    """The first row of the table, which the one public implementation gets wrong."""
    logits, targets = example(seed, 1, 1, m)
    nothing = full(logits, targets[:, :0], skip_target_penalty=delta, backend=backend)
    assert_close(axe_loss(**nothing), -logits.log_softmax(-1)[:, :, BLANK].sum(1))
    # With one target, the best path has one alignment and m - 1 blanks, whatever delta is.
    one = [full(logits, targets, skip_target_penalty=penalty, backend=backend) for penalty in (1.0, delta)]
    assert_close(axe_loss(**one[0]), axe_loss(**one[1]))


@given(seed=seeds, size=sizes, delta=deltas)
def test_the_first_column_skips_targets_on_the_first_prediction(seed, size, delta) -> None:
    """Algorithm 1 charges delta * -log P_1(Y_i) there; a table with infinity instead is another loss."""
    _, n, m = size
    logits, targets = example(seed, 1, n, m)
    table = table_of_algorithm_1(logits[0].log_softmax(-1).tolist(), targets[0].tolist(), BLANK, delta)
    expected = -delta * logits[0, 0].log_softmax(-1)[targets[0]].sum()
    assert_close(torch.tensor(table[n][0], dtype=torch.float64), expected)


@given(seed=seeds, size=sizes, delta=deltas, rows=st.integers(0, 3), columns=st.integers(0, 3))
def test_padding_changes_nothing(seed, size, delta, rows, columns) -> None:
    batch = ragged(seed, *size)
    noise = torch.randn(size[0], rows, V, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    padded = {
        **batch,
        "logits": torch.cat([batch["logits"], 9 * noise], dim=1),
        "targets": torch.cat([batch["targets"], torch.ones(size[0], columns, dtype=torch.long)], dim=1),
    }
    batch["logits"].requires_grad_()
    padded["logits"].requires_grad_()
    arguments = {"blank_id": BLANK, "skip_target_penalty": delta, "label_smoothing": 0.1}
    loss, loss_padded = axe_loss(**batch, **arguments), axe_loss(**padded, **arguments)
    assert_close(loss, loss_padded)
    (gradient,) = torch.autograd.grad(loss.sum(), batch["logits"])
    (with_padding,) = torch.autograd.grad(loss_padded.sum(), padded["logits"])
    assert_close(with_padding[:, : size[2]], gradient)
    assert not with_padding[:, size[2] :].any()
    for b, m in enumerate(batch["prediction_lengths"].tolist()):
        assert not gradient[b, m:].any()


@given(seed=seeds, size=sizes, delta=deltas)
def test_a_batch_is_its_sentences_in_any_order(seed, size, delta) -> None:
    batch = ragged(seed, *size)
    arguments = {"blank_id": BLANK, "skip_target_penalty": delta, "label_smoothing": 0.1}
    together = axe_loss(**batch, **arguments)
    order = torch.randperm(size[0], generator=torch.Generator().manual_seed(seed))
    assert_close(axe_loss(**{name: value[order] for name, value in batch.items()}, **arguments), together[order])
    for b in range(size[0]):
        m, n = int(batch["prediction_lengths"][b]), int(batch["target_lengths"][b])
        alone = full(batch["logits"][b : b + 1, :m], batch["targets"][b : b + 1, :n])
        assert_close(axe_loss(**{**alone, **arguments}), together[b : b + 1])


@given(seed=seeds, n=st.integers(1, 6), delta=deltas)
def test_axe_is_never_above_cross_entropy_on_as_many_predictions(seed, n, delta) -> None:
    logits, targets = example(seed, 3, n, n)
    cross_entropy = -logits.log_softmax(-1).gather(2, targets[:, :, None]).sum((1, 2))
    assert (axe_loss(**full(logits, targets, skip_target_penalty=delta)) <= cross_entropy + 1e-9).all()


@given(seed=seeds, n=st.integers(1, 6))
def test_without_blanks_and_with_a_large_delta_axe_is_cross_entropy(seed, n) -> None:
    logits, targets = example(seed, 3, n, n)
    logits[:, :, BLANK] = -1e4
    cross_entropy = -logits.log_softmax(-1).gather(2, targets[:, :, None]).sum((1, 2))
    assert_close(axe_loss(**full(logits, targets, skip_target_penalty=1e3)), cross_entropy)


@given(seed=seeds, size=sizes, low=deltas, high=deltas)
def test_axe_does_not_fall_as_delta_grows(seed, size, low, high) -> None:
    batch = ragged(seed, *size)
    low, high = sorted((low, high))
    cheap, dear = (axe_loss(**batch, blank_id=BLANK, skip_target_penalty=delta) for delta in (low, high))
    assert (cheap <= dear + 1e-9).all()


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
def test_tokens_that_cannot_be_predicted_are_avoided_without_harm(backend) -> None:
    """Logits of minus infinity where the best path never goes leave no nan behind."""
    logits, targets = example(6, 2, 3, 3)
    logits[:, :, BLANK] = -torch.inf
    logits[:, :, 1] = -torch.inf
    targets = targets.clamp(min=2)
    targets[1, 2] = 1  # padding
    logits.requires_grad_()
    sizes = {"prediction_lengths": lengths(3, 2), "target_lengths": lengths(3, 2)}
    loss = axe_loss(logits, targets, **sizes, blank_id=BLANK, backend=backend)
    assert loss.isfinite().all()
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert gradient.isfinite().all()


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
        ({"prediction_lengths": lengths(4, 1)}, "lengths go beyond the tensors, which hold 3 predictions"),
        ({"target_lengths": lengths(4, 1)}, "lengths go beyond the tensors, .* and 3 targets"),
        ({"prediction_lengths": lengths(0, 3)}, "needs at least one prediction"),
        ({"backend": "cuda"}, "backend must be one of auto, torch, numba, got 'cuda'"),
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
