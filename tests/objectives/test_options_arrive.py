"""What a configuration says reaches the loss: against slow truths, with values that are pairwise different."""

import pytest
import torch
from torch.testing import assert_close

from axenat.data.vocab import BLANK, EOS
from axenat.objectives.axe import Axe
from axenat.objectives.registry import objective_of
from axenat.systems.registry import settings_of
from axenat.systems.spec import Settings
from tests import tiny
from tests.reference.axe import algorithm_1, smoothed_inside

BATCH = tiny.batch([[6, 7, 8], [9], [6, 6, 6, 6, 7]], [[7, 8], [9, 9, 8, 6, 7], [6]])
OPTIONS = {"skip_target_penalty": 3.0, "label_smoothing": 0.25, "smoothing": "inside", "first_column": "strict"}
FEWER = {"observe": "none", "train_length_multiplier": 0.5}


def test_the_options_of_axe_are_those_of_the_configuration_field_by_field() -> None:
    for changes in (OPTIONS, {}):
        config = settings_of("axe", **changes)
        options = Axe(config).options
        for name in ("skip_target_penalty", "label_smoothing", "smoothing", "first_column"):
            assert getattr(options, name) == getattr(config, name)
        assert options.blank_id == BLANK


def output_of(objective, canvas):
    model = tiny.model(seed=2, predicts_length=objective.predicts_length).double()
    return model(BATCH.source, BATCH.source_lengths, canvas.ids, canvas.lengths, objective.causal)


def token_loss(config: Settings) -> tuple[float, list[list[list[float]]]]:
    """The sum, and the log-probabilities of each prediction of each sentence."""
    objective = objective_of(config)
    canvas = objective.canvas(BATCH, torch.Generator().manual_seed(1))
    output = output_of(objective, canvas)
    log_probs = output.logits().detach().log_softmax(-1)
    rows = [log_probs[b, : int(m)].tolist() for b, m in enumerate(canvas.lengths)]
    return float(objective.score(output, BATCH, canvas).parts["token_loss"]), rows


def targets() -> list[list[int]]:
    return [BATCH.target[b, : int(n)].tolist() for b, n in enumerate(BATCH.target_lengths)]


@pytest.mark.parametrize("projection", ["fused", "plain"])
def test_axe_is_algorithm_1_with_the_options_of_the_configuration(projection) -> None:
    """With half as many predictions as targets, each of them changes the sum."""
    found = {}
    for name in ("none of the changes", *OPTIONS):
        options = {key: value for key, value in OPTIONS.items() if key != name}
        config = settings_of("axe", projection=projection, **FEWER, **options)
        found[name], rows = token_loss(config)
        share, inside = config.label_smoothing, config.smoothing == "inside"
        expected = 0.0
        for row, target in zip(rows, targets(), strict=True):
            costs = smoothed_inside(row, share) if inside else row
            best = algorithm_1(costs, target, BLANK, config.skip_target_penalty, config.first_column)
            means = [-sum(position) / len(position) for position in row]
            expected += best if inside else (1 - share) * best + share * sum(means)
        assert found[name] == pytest.approx(expected)
    assert len({round(value, 9) for value in found.values()}) == len(found)


@pytest.mark.parametrize("name", ["left_to_right", "masked"])
@pytest.mark.parametrize("projection", ["fused", "plain"])
def test_cross_entropy_smooths_by_the_share_of_the_configuration(name, projection) -> None:
    for share in (0.0, 0.25):
        how = {"projection": projection, "label_smoothing": share}
        config = settings_of(name, **how, **({"observe": "none"} if name == "masked" else {}))
        found, rows = token_loss(config)
        expected = 0.0
        for row, target in zip(rows, targets(), strict=True):
            for costs, token in zip(row, target, strict=True):
                expected -= (1 - share) * costs[token] + share * sum(costs) / len(costs)
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(("called", "projection"), [(True, "fused"), (False, "plain")])
@pytest.mark.parametrize("name", ["left_to_right", "masked", "axe"])
def test_only_the_plain_projection_holds_all_logits(name, called, projection, monkeypatch) -> None:
    from axenat.losses import projected

    calls, score = [], projected._score
    monkeypatch.setattr(projected, "_score", lambda *words: calls.append(1) or score(*words))
    token_loss(settings_of(name, projection=projection))
    assert bool(calls) == called


@pytest.mark.parametrize("projection", ["fused", "plain"])
@pytest.mark.parametrize("multiplier", [0.5, 1.0, 1.5])
def test_what_is_skipped_is_counted_as_the_alignment_has_it(projection, multiplier) -> None:
    """With fewer predictions some targets must be skipped, with more some predictions."""
    objective = tiny.objective(
        "axe", observe="none", train_length_multiplier=multiplier, projection=projection, label_smoothing=0.0
    )
    canvas = objective.canvas(BATCH, torch.Generator())
    output = output_of(objective, canvas)
    parts = objective.score(output, BATCH, canvas).parts
    n, m = int(BATCH.target_lengths.sum()), int(canvas.lengths.sum())
    skipped_targets, skipped_predictions = int(parts["skip_targets"]), int(parts["skip_predictions"])
    assert (int(parts["targets"]), int(parts["predictions"])) == (n, m)
    # Targets and predictions that are not skipped are aligned in pairs.
    assert n - skipped_targets == m - skipped_predictions
    assert multiplier != 0.5 or skipped_targets >= n - m > 0
    assert multiplier != 1.5 or skipped_predictions >= m - n > 0


@pytest.mark.parametrize("name", ["masked", "axe"])
def test_without_eos_the_lengths_that_are_learnt_do_not_count_it(name) -> None:
    """Each sentence has a class of its own, at the number of tokens that are predicted."""
    for eos, more in (("keep", 1), ("drop", 0)):
        objective = tiny.objective(name, observe="none", eos=eos)
        canvas = objective.canvas(BATCH, torch.Generator())
        output = output_of(objective, canvas)
        log_probs = output.length_logits.double().log_softmax(-1)
        expected = -sum(log_probs[b, n + more] for b, n in enumerate((2, 5, 1)))
        assert_close(
            objective.score(output, BATCH, canvas).parts["length_loss"].double(), expected, rtol=1e-6, atol=0.0
        )
        assert canvas.lengths.tolist() == [n + more for n in (2, 5, 1)]
        assert (EOS in canvas.ids) is False
