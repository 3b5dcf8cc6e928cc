"""What the decoder sees, how it is scored and how predictions are read out agree, for each objective."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from axenat.data.vocab import BLANK, BOS, EOS, MASK, PAD
from axenat.losses.axe import axe_loss
from axenat.losses.cross_entropy import cross_entropy_loss
from axenat.losses.length import length_loss
from axenat.losses.rows import within
from axenat.objectives.base import Canvas, LossSum
from axenat.objectives.masking import blank_page, hide_some, masked_canvas
from axenat.systems.registry import SYSTEMS
from tests import tiny

BATCH = tiny.batch([[6, 7, 8], [9], [6, 6, 6, 6, 7]], [[7, 8], [9, 9, 8, 6, 7], []])
MASKED = [
    (name, observe, score)
    for name in ("masked", "axe")
    for observe, score in (("some", "hidden"), ("some", "all"), ("none", "hidden"), ("none", "all"))
]
VARIANTS = [("left_to_right", "some", "hidden"), *MASKED]


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def made(name: str, observe: str = "some", score: str = "hidden", **more):
    return tiny.objective(name, observe=observe, score=score, **more)


def loss_of(objective, batch, canvas: Canvas) -> LossSum:
    model = tiny.model(predicts_length=objective.predicts_length)
    output = model(batch.source, batch.source_lengths, canvas.ids, canvas.lengths, objective.causal)
    return objective.score(output, batch, canvas)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_code_of_a_system_is_there_and_what_it_predicts_is_what_its_description_counts(name) -> None:
    assert SYSTEMS[name].name == name
    made = tiny.objective(name)
    assert bool(SYSTEMS[name].num_own_parameters(tiny.model_config())) == made.predicts_length


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 99), st.integers(0, 3))
def test_at_least_one_token_is_hidden_and_padding_never(lengths, seed, padding) -> None:
    sizes = torch.tensor(lengths)
    hidden = hide_some(sizes, max(lengths) + padding, generator(seed))
    assert (hidden.sum(1) >= 1).all()
    assert not hidden[~within(sizes, hidden.shape[1])].any()


def test_the_number_of_hidden_tokens_is_uniform_from_one_to_n_and_every_position_alike() -> None:
    n, rows = 5, 50_000
    hidden = hide_some(torch.full((rows,), n), n + 2, generator())
    counts = torch.bincount(hidden.sum(1), minlength=n + 1)
    # Five standard deviations of a binomial count.
    assert counts[0] == 0
    assert ((counts[1:] - rows / n).abs() < 5 * (rows / n * (1 - 1 / n)) ** 0.5).all()
    share = (n + 1) / (2 * n)
    assert ((hidden[:, :n].sum(0) - rows * share).abs() < 5 * (rows * share * (1 - share)) ** 0.5).all()


@given(st.integers(0, 99), st.sampled_from(["some", "none"]))
def test_a_masked_canvas_shows_the_observed_tokens_and_hides_the_others(seed, observe) -> None:
    canvas = masked_canvas(BATCH, observe, generator(seed))
    inside = within(BATCH.target_lengths, BATCH.target.shape[1])
    assert torch.equal(canvas.lengths, BATCH.target_lengths)
    assert (canvas.ids[canvas.observed] == BATCH.target[canvas.observed]).all()
    assert (canvas.ids[inside & ~canvas.observed] == MASK).all()
    assert (canvas.ids[~inside] == PAD).all() and not canvas.observed[~inside].any()
    assert observe == "some" or not canvas.observed.any()


def test_the_generator_alone_decides_the_canvas() -> None:
    one, two, other = (masked_canvas(BATCH, "some", generator(seed)) for seed in (1, 1, 4))
    assert torch.equal(one.ids, two.ids)
    assert not torch.equal(one.ids, other.ids)


def test_a_blank_page_is_all_masks() -> None:
    page = blank_page(torch.tensor([3, 1]))
    assert page.ids.tolist() == [[MASK] * 3, [MASK, PAD, PAD]]
    assert not page.observed.any()


def test_left_to_right_sees_each_token_one_place_later() -> None:
    canvas = made("left_to_right").canvas(BATCH, generator())
    assert (canvas.ids[:, 0] == BOS).all()
    assert torch.equal(canvas.ids[:, 1:], BATCH.target[:, :-1])


@pytest.mark.parametrize(("name", "observe", "score"), VARIANTS)
def test_a_batch_costs_the_sum_of_its_sentences(name, observe, score) -> None:
    objective = made(name, observe, score)
    canvas = objective.canvas(BATCH, generator())
    whole = loss_of(objective, BATCH, canvas).detached()
    sums = dict.fromkeys(whole, 0.0)
    for i in range(len(BATCH)):
        n = int(canvas.lengths[i])
        row = slice(i, i + 1)
        alone = Canvas(canvas.ids[row, :n], canvas.lengths[row], canvas.observed[row, :n])
        for key, value in loss_of(objective, tiny.sentence(BATCH, i), alone).detached().items():
            sums[key] += value
    assert whole == pytest.approx(sums, rel=1e-4)


@pytest.mark.parametrize(("name", "observe", "score"), VARIANTS)
def test_the_count_is_the_number_of_predicted_tokens(name, observe, score) -> None:
    objective = made(name, observe, score)
    canvas = objective.canvas(BATCH, generator(2))
    count = loss_of(objective, BATCH, canvas).count
    tokens = int(BATCH.target_lengths.sum())
    hidden = tokens - int(canvas.observed.sum())
    assert int(count) == (hidden if score == "hidden" and name != "left_to_right" else tokens)


@pytest.mark.parametrize(("name", "observe", "score"), MASKED)
def test_masked_objectives_add_the_length_loss_to_the_token_loss(name, observe, score) -> None:
    model = tiny.model()
    for weight in (0.0, 1.0, 2.5):
        objective = made(name, observe, score, length_loss_weight=weight)
        canvas = objective.canvas(BATCH, generator())
        output = model(BATCH.source, BATCH.source_lengths, canvas.ids, canvas.lengths, False)
        loss = objective.score(output, BATCH, canvas)
        lengths = length_loss(output.length_logits, BATCH.target_lengths).sum()
        assert_close(loss.parts["length_loss"], lengths)
        assert_close(loss.total, loss.parts["token_loss"] + weight * lengths)


@pytest.mark.parametrize("score", ["hidden", "all"])
def test_masked_scores_hidden_tokens_or_all_by_cross_entropy(score) -> None:
    model, objective = tiny.model(), made("masked", "some", score)
    canvas = objective.canvas(BATCH, generator())
    output = model(BATCH.source, BATCH.source_lengths, canvas.ids, canvas.lengths, False)
    scored = within(BATCH.target_lengths, BATCH.target.shape[1])
    if score == "hidden":
        scored = canvas.ids == MASK
    expected = cross_entropy_loss(output.logits()[scored], BATCH.target[scored], label_smoothing=0.1).sum()
    assert_close(objective.score(output, BATCH, canvas).parts["token_loss"], expected)


@pytest.mark.parametrize("score", ["hidden", "all"])
def test_axe_scores_with_its_loss_and_delta(score) -> None:
    model, objective = tiny.model(), made("axe", "some", score, skip_target_penalty=3.0)
    canvas = objective.canvas(BATCH, generator())
    output = model(BATCH.source, BATCH.source_lengths, canvas.ids, canvas.lengths, False)
    expected = axe_loss(
        output.logits(),
        BATCH.target,
        prediction_lengths=BATCH.target_lengths,
        target_lengths=BATCH.target_lengths,
        blank_id=BLANK,
        skip_target_penalty=3.0,
        observed=canvas.observed if score == "hidden" else None,
        label_smoothing=0.1,
    ).sum()
    loss = objective.score(output, BATCH, canvas)
    assert_close(loss.parts["token_loss"], expected)
    for skipped, of in (("skip_targets", "targets"), ("skip_predictions", "predictions")):
        assert 0 <= loss.parts[skipped] <= loss.parts[of] == BATCH.target_lengths.sum()


@pytest.mark.parametrize("name", tuple(SYSTEMS))
def test_only_the_total_carries_a_gradient(name) -> None:
    objective = made(name)
    loss = loss_of(objective, BATCH, objective.canvas(BATCH, generator()))
    assert loss.total.requires_grad
    assert not any(part.requires_grad for part in (loss.count, *loss.parts.values()))


def test_a_left_to_right_read_out_ends_at_the_first_eos() -> None:
    read_out = made("left_to_right").read_out
    assert read_out([6, 7, EOS, 8, EOS]) == [6, 7]
    assert read_out([6, 7]) == [6, 7]
    assert read_out([EOS]) == []


def test_a_masked_read_out_drops_every_eos_and_nothing_else() -> None:
    assert made("masked").read_out([6, EOS, 7, 7, EOS]) == [6, 7, 7]


def test_an_axe_read_out_drops_blanks_and_eos_and_keeps_repeated_tokens() -> None:
    read_out = made("axe").read_out
    assert read_out([BLANK, 6, 6, BLANK, 6, 7, EOS, BLANK]) == [6, 6, 6, 7]
    assert read_out([BLANK, EOS]) == []


@pytest.mark.parametrize("name", tuple(SYSTEMS))
def test_inputs_are_never_put_out_and_only_axe_may_say_blank(name) -> None:
    banned = made(name).banned
    assert {PAD, BOS, MASK} <= set(banned) and EOS not in banned
    assert (BLANK in banned) == (name != "axe")


@pytest.mark.parametrize(("name", "observe", "score"), VARIANTS)
def test_the_projection_fused_into_the_loss_changes_no_number(name, observe, score) -> None:
    results = []
    for projection in ("fused", "plain"):
        objective = made(name, observe, score, projection=projection)
        model = tiny.model(predicts_length=objective.predicts_length).double()
        canvas = objective.canvas(BATCH, generator())
        output = model(BATCH.source, BATCH.source_lengths, canvas.ids, canvas.lengths, objective.causal)
        loss = objective.score(output, BATCH, canvas)
        loss.total.backward()
        results.append((loss.detached(), {name: weight.grad for name, weight in model.named_parameters()}))
    (fused, fused_gradients), (plain, plain_gradients) = results
    assert fused == pytest.approx(plain)
    assert_close(fused_gradients, plain_gradients)
