"""Aligned cross entropy is what the paper says it is, in value and alignment."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from axenat.losses.axe import FIRST_COLUMNS, Op, axe_align, axe_loss
from tests.reference.axe import algorithm_1, equation_2, table_of_algorithm_1
from tests.reference.sentences import BACKENDS, BLANK, QUICK, V, edges, example, full, ragged

sizes = st.tuples(st.integers(1, 5), st.integers(0, 6), st.integers(1, 6))
seeds = st.integers(0, 10_000)
deltas = st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0, 5.0])
backends = pytest.mark.parametrize("backend", BACKENDS)
quick = pytest.mark.parametrize("backend", QUICK)
columns = pytest.mark.parametrize("column", FIRST_COLUMNS)


def slow(
    logits: Tensor, targets: Tensor, prediction_lengths: Tensor, target_lengths: Tensor, delta: float, column: str
) -> Tensor:
    rows = [
        algorithm_1(logits[b, :m].log_softmax(-1).tolist(), targets[b, :n].tolist(), BLANK, delta, column)
        for b, (m, n) in enumerate(zip(prediction_lengths.tolist(), target_lengths.tolist(), strict=True))
    ]
    return torch.tensor(rows, dtype=torch.float64)


def is_algorithm_1(backend: str, column: str, delta: float, batch: dict[str, Tensor]) -> None:
    how = {"blank_id": BLANK, "skip_target_penalty": delta, "first_column": column, "backend": backend}
    expected = slow(**batch, delta=delta, column=column)
    assert_close(axe_loss(**batch, **how), expected)
    assert_close(axe_align(**batch, **how).total, expected)


@quick
@columns
@given(seed=seeds, size=sizes, delta=deltas)
def test_axe_is_algorithm_1(backend, column, seed, size, delta) -> None:
    is_algorithm_1(backend, column, delta, ragged(seed, *size))


@backends
@columns
def test_axe_is_algorithm_1_at_every_edge(backend, column) -> None:
    is_algorithm_1(backend, column, 2.5, edges())


def is_equation_2(backend: str, batch: dict[str, Tensor]) -> None:
    sizes = zip(batch["prediction_lengths"].tolist(), batch["target_lengths"].tolist(), strict=True)
    best = [
        equation_2(batch["logits"][b, :m].log_softmax(-1).tolist(), batch["targets"][b, :n].tolist(), BLANK)
        for b, (m, n) in enumerate(sizes)
    ]
    assert_close(axe_loss(**batch, blank_id=BLANK, backend=backend), batch["logits"].new_tensor(best))


@quick
@given(seed=seeds, size=sizes)
def test_axe_is_equation_2_when_delta_is_one(backend, seed, size) -> None:
    is_equation_2(backend, ragged(seed, *size))


@backends
def test_axe_is_equation_2_at_every_edge_when_delta_is_one(backend) -> None:
    is_equation_2(backend, edges(seed=2))


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
@pytest.mark.parametrize("m", [1, 2, 5])
def test_delta_never_multiplies_a_skipped_prediction(backend, m) -> None:
    """The first row of the table, which the one public implementation gets wrong."""
    logits, targets = example(m, 3, 1, m)
    nothing = full(logits, targets[:, :0], skip_target_penalty=4.0, backend=backend)
    assert_close(axe_loss(**nothing), -logits.log_softmax(-1)[:, :, BLANK].sum(1))
    # With one target, the best path has one alignment and m - 1 blanks, whatever delta is.
    one = [full(logits, targets, skip_target_penalty=penalty, backend=backend) for penalty in (1.0, 4.0)]
    assert_close(axe_loss(**one[0]), axe_loss(**one[1]))


@given(seed=seeds, size=sizes, delta=deltas)
def test_the_first_column_skips_targets_on_the_first_prediction(seed, size, delta) -> None:
    """Algorithm 1 charges delta * -log P_1(Y_i) there; a table with infinity instead is another loss."""
    _, n, m = size
    logits, targets = example(seed, 1, n, m)
    table = table_of_algorithm_1(logits[0].log_softmax(-1).tolist(), targets[0].tolist(), BLANK, delta)
    expected = -delta * logits[0, 0].log_softmax(-1)[targets[0]].sum()
    assert_close(torch.tensor(table[n][0], dtype=torch.float64), expected)


@backends
def test_the_paper_lets_the_first_prediction_align_with_any_of_its_targets_and_strict_with_the_first(backend) -> None:
    logits = torch.zeros(1, 1, V, dtype=torch.float64)
    logits[0, 0, 1] = 3.0  # Y_1 is likelier than Y_2: the paper pays delta for it, and once for Y_2
    arguments = full(logits, torch.tensor([[1, 2]]), skip_target_penalty=2.0, backend=backend)
    first, second = -logits.log_softmax(-1)[0, 0, [1, 2]]
    paper, strict = (axe_align(**arguments, first_column=column) for column in FIRST_COLUMNS)
    assert_close(paper.total[0], 2 * first + second)
    assert_close(strict.total[0], first + 2 * second)
    assert paper.operator.tolist() == [[Op.SKIP_TARGET, Op.ALIGN]]
    assert strict.operator.tolist() == [[Op.ALIGN, Op.SKIP_TARGET]]


@given(seed=seeds, size=sizes, delta=deltas)
def test_the_strict_column_never_costs_less_and_with_delta_one_the_same(seed, size, delta) -> None:
    batch = ragged(seed, *size)
    paper, strict = (
        axe_loss(**batch, blank_id=BLANK, skip_target_penalty=delta, first_column=column) for column in FIRST_COLUMNS
    )
    assert (paper <= strict + 1e-9).all()
    if delta == 1:
        assert_close(paper, strict)


@given(seed=seeds, size=sizes, delta=deltas, rows=st.integers(0, 3), columns=st.integers(0, 3))
def test_padding_changes_nothing(seed, size, delta, rows, columns) -> None:
    batch = ragged(seed, *size)
    noise = torch.randn(size[0], rows, V, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    padded = {
        **batch,
        "logits": torch.cat([batch["logits"], 9 * noise], dim=1),
        "targets": torch.cat([batch["targets"], torch.full((size[0], columns), -100)], dim=1),
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
