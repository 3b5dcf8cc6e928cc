"""Where the paper leaves a choice, the option says what changes and nothing else does."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from axenat.data.batches import Batch, pad
from axenat.data.vocab import BLANK, EOS, MASK, PAD
from axenat.decode.parallel import parallel_decode, shortest
from axenat.decode.passes import TorchPasses
from axenat.losses.axe import axe_loss
from axenat.losses.length import length_loss
from axenat.losses.rows import within
from axenat.objectives.base import LossSum
from axenat.objectives.masking import hide_some, predicted, scaled
from axenat.systems.registry import SYSTEMS
from tests import tiny

SOURCES, TARGETS = [[6, 7, 8], [9], [6, 6, 6, 6, 7], [8]], [[7, 8], [9, 9, 8, 6, 7], [], [6]]
BATCH = tiny.batch(SOURCES, TARGETS)
OBSERVE_AND_SCORE = [("some", "hidden"), ("some", "all"), ("none", "hidden")]


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def loss_of(objective, batch: Batch, seed: int = 1) -> LossSum:
    model = tiny.model(predicts_length=objective.predicts_length)
    canvas = objective.canvas(batch, generator(seed))
    return objective.score(
        model(batch.source, batch.source_lengths, canvas.ids, canvas.lengths, objective.causal), batch, canvas
    )


def test_a_canvas_moves_as_a_whole() -> None:
    canvas = tiny.objective("axe").canvas(BATCH, generator())
    moved = canvas.to("meta")
    assert all(getattr(moved, name).device.type == "meta" for name in ("ids", "lengths", "observed"))
    again = canvas.to(torch.device("cpu"))
    assert all(torch.equal(getattr(again, name), getattr(canvas, name)) for name in ("ids", "lengths", "observed"))


@pytest.mark.parametrize("name", tuple(SYSTEMS))
def test_sums_are_the_tensors_behind_the_numbers(name) -> None:
    loss = loss_of(tiny.objective(name), BATCH)
    sums = loss.sums()
    assert {"total", "count", "token_loss"} <= sums.keys()
    assert all(isinstance(value, torch.Tensor) and not value.requires_grad for value in sums.values())
    assert {name: float(value) for name, value in sums.items()} == loss.detached()
    assert loss.total.requires_grad


# most_hidden


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 99), st.integers(0, 3))
def test_all_but_one_leaves_a_token_to_see_wherever_there_are_two(lengths, seed, padding) -> None:
    sizes = torch.tensor(lengths)
    hidden = hide_some(sizes, max(lengths) + padding, generator(seed), "all_but_one").sum(1)
    assert (hidden >= 1).all() and (hidden <= (sizes - 1).clamp(min=1)).all()


def test_all_but_one_hides_each_number_from_one_to_n_less_one_as_often() -> None:
    n, rows = 5, 50_000
    hidden = hide_some(torch.full((rows,), n), n, generator(), "all_but_one")
    counts = torch.bincount(hidden.sum(1), minlength=n + 1)
    assert counts[0] == counts[n] == 0
    share = 1 / (n - 1)  # five standard deviations of a binomial count
    assert ((counts[1:n] - rows * share).abs() < 5 * (rows * share * (1 - share)) ** 0.5).all()


@pytest.mark.parametrize("name", ["masked", "axe"])
def test_the_objective_hides_as_many_as_it_is_told(name) -> None:
    for seed in range(20):
        canvas = tiny.objective(name, most_hidden="all_but_one").canvas(BATCH, generator(seed))
        assert (canvas.observed.sum(1)[BATCH.target_lengths > 1] >= 1).all()


# normalise


@pytest.mark.parametrize("name", tuple(SYSTEMS))
@pytest.mark.parametrize(("observe", "score"), OBSERVE_AND_SCORE)
def test_sentences_change_the_count_alone(name, observe, score) -> None:
    tokens, sentences = (
        loss_of(tiny.objective(name, observe=observe, score=score, normalise=normalise), BATCH).detached()
        for normalise in ("tokens", "sentences")
    )
    assert sentences.pop("count") == len(BATCH) != tokens.pop("count")
    assert sentences == tokens


# eos


def without_eos() -> Batch:
    """The slow truth: the same sentences, written down without <eos>; an empty one has nothing else."""
    target, target_lengths = pad([ids or [EOS] for ids in TARGETS])
    names = ("source", "source_lengths", "index")
    same = {name: getattr(BATCH, name) for name in names}
    return Batch(target=target, target_lengths=target_lengths, **same)


@pytest.mark.parametrize("padding", [0, 2])
def test_dropping_eos_gives_the_batch_that_never_had_one(padding) -> None:
    padded = Batch(
        source=BATCH.source, source_lengths=BATCH.source_lengths, index=BATCH.index,
        target=torch.nn.functional.pad(BATCH.target, (0, padding), value=PAD), target_lengths=BATCH.target_lengths,
    )  # fmt: skip
    dropped, truth = predicted(padded, "drop"), without_eos()
    assert torch.equal(dropped.target_lengths, truth.target_lengths)
    assert torch.equal(dropped.target[:, : truth.target.shape[1]], truth.target)
    assert (dropped.target[:, truth.target.shape[1] :] == PAD).all()
    assert predicted(padded, "keep") is padded


def test_a_batch_of_empty_targets_keeps_its_ends() -> None:
    dropped = predicted(tiny.batch([[6], [7]], [[], []]), "drop")
    assert dropped.target.tolist() == [[EOS], [EOS]] and dropped.target_lengths.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["masked", "axe"])
@pytest.mark.parametrize(("observe", "score"), OBSERVE_AND_SCORE)
@pytest.mark.parametrize("projection", ["fused", "plain"])
def test_without_eos_tokens_and_lengths_are_those_of_sentences_without_eos(name, observe, score, projection) -> None:
    how = {"observe": observe, "score": score, "projection": projection}
    dropped = loss_of(tiny.objective(name, eos="drop", **how), BATCH).detached()
    truth = loss_of(tiny.objective(name, eos="keep", **how), without_eos()).detached()
    assert dropped == pytest.approx(truth)
    assert all(torch.isfinite(torch.tensor(value)) for value in dropped.values())


@pytest.mark.parametrize("name", ["masked", "axe"])
@pytest.mark.parametrize("eos", ["keep", "drop"])
def test_a_model_that_knows_its_sentences_by_heart_decodes_them_the_empty_one_too(name, eos) -> None:
    """Training, predicted lengths, decoding and read-out agree on who counts <eos>."""
    objective = tiny.objective(name, observe="none", eos=eos, label_smoothing=0.0)
    model = tiny.model(width=32, hidden=64, init_std=0.1).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(120):
        canvas = objective.canvas(BATCH, generator(step))
        output = model(BATCH.source, BATCH.source_lengths, canvas.ids, canvas.lengths, False)
        loss = objective.score(output, BATCH, canvas)
        optimizer.zero_grad()
        (loss.total / loss.count).backward()
        optimizer.step()
    with torch.inference_mode():
        model.eval()
        lengths = model.encode(BATCH.source, BATCH.source_lengths).length_logits.argmax(1)
        found = parallel_decode(
            TorchPasses(model, objective.banned), BATCH.source, BATCH.source_lengths, num_length_candidates=1,
            length_multiplier=1.0, least=shortest(eos),
        )  # fmt: skip
    assert lengths.tolist() == predicted(BATCH, eos).target_lengths.tolist()
    assert [objective.read_out(one.ids) for (one,) in found] == TARGETS


# train_length_multiplier


@given(st.lists(st.integers(1, 150), min_size=1, max_size=5), st.sampled_from(range(50, 200)))
def test_a_scaled_length_is_rounded_half_up_and_never_zero(lengths, hundredths) -> None:
    exact = [max(1, (length * hundredths * 2 + 100) // 200) for length in lengths]  # in whole numbers: half is half
    assert scaled(torch.tensor(lengths), hundredths / 100).tolist() == exact


@pytest.mark.parametrize("multiplier", [0.5, 1.4, 2.0])
@pytest.mark.parametrize("projection", ["fused", "plain"])
@pytest.mark.parametrize("score", ["hidden", "all"])
def test_a_multiplied_canvas_is_blank_and_scored_with_as_many_predictions(multiplier, projection, score) -> None:
    objective = tiny.objective(
        "axe", observe="none", score=score, train_length_multiplier=multiplier, projection=projection
    )
    canvas = objective.canvas(BATCH, generator())
    assert torch.equal(canvas.lengths, scaled(BATCH.target_lengths, multiplier))
    inside = within(canvas.lengths, canvas.ids.shape[1])
    assert (canvas.ids[inside] == MASK).all() and (canvas.ids[~inside] == PAD).all() and not canvas.observed.any()
    model = tiny.model()
    output = model(BATCH.source, BATCH.source_lengths, canvas.ids, canvas.lengths, False)
    loss = objective.score(output, BATCH, canvas)
    expected = axe_loss(
        output.logits(), BATCH.target, prediction_lengths=canvas.lengths, target_lengths=BATCH.target_lengths,
        blank_id=BLANK, label_smoothing=0.1,
    ).sum()  # fmt: skip
    assert_close(loss.parts["token_loss"], expected.detach())
    assert_close(loss.parts["length_loss"], length_loss(output.length_logits, BATCH.target_lengths).sum().detach())
    assert loss.count == BATCH.target_lengths.sum() and loss.parts["predictions"] == canvas.lengths.sum()


def test_a_multiplier_of_one_is_the_canvas_without_it() -> None:
    plain, same = (
        tiny.objective("axe", observe="none", **more).canvas(BATCH, generator())
        for more in ({}, {"train_length_multiplier": 1.0})
    )
    assert torch.equal(plain.ids, same.ids) and torch.equal(plain.lengths, same.lengths)


# smoothing


@pytest.mark.parametrize("projection", ["fused", "plain"])
@pytest.mark.parametrize("multiplier", [1.0, 0.5])
def test_axe_smooths_where_it_is_told(projection, multiplier) -> None:
    """With half as many predictions, targets must be skipped, and then it matters."""
    observe = {"observe": "some"} if multiplier == 1.0 else {"observe": "none", "train_length_multiplier": multiplier}
    objective = tiny.objective("axe", smoothing="inside", projection=projection, label_smoothing=0.3, **observe)
    model, canvas = tiny.model(), objective.canvas(BATCH, generator())
    output = model(BATCH.source, BATCH.source_lengths, canvas.ids, canvas.lengths, False)
    inside, outside = (
        axe_loss(
            output.logits(), BATCH.target, prediction_lengths=canvas.lengths, target_lengths=BATCH.target_lengths,
            blank_id=BLANK, label_smoothing=0.3, smoothing=smoothing,
            observed=canvas.observed if multiplier == 1.0 else None,
        ).sum().detach()
        for smoothing in ("inside", "outside")
    )  # fmt: skip
    found = objective.score(output, BATCH, canvas).parts["token_loss"]
    assert_close(found, inside)
    assert multiplier == 1.0 or found > outside + 0.1
