"""Cross entropy position by position, smoothed over the whole vocabulary."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from axenat.losses.cross_entropy import cross_entropy_loss
from axenat.losses.projected import cross_entropy_from_states


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


@given(seed=st.integers(0, 1000), size=st.integers(0, 6), smoothing=st.sampled_from([0.0, 0.1, 0.5]))
def test_it_is_the_smoothed_negative_log_probability_of_each_position(seed, size, smoothing) -> None:
    rng = torch.Generator().manual_seed(seed)
    logits, targets = torch.randn(size, 9, generator=rng), torch.randint(9, (size,), generator=rng)
    costs = -logits.log_softmax(-1)
    expected = (1 - smoothing) * costs.gather(1, targets[:, None])[:, 0] + smoothing / 9 * costs.sum(1)
    assert_close(cross_entropy_loss(logits, targets, label_smoothing=smoothing), expected)


def test_narrow_logits_are_summed_in_float32() -> None:
    logits = randn(4, 9).bfloat16()
    loss = cross_entropy_loss(logits, torch.arange(4), label_smoothing=0.1)
    assert loss.dtype == torch.float32
    assert_close(loss, cross_entropy_loss(logits.float(), torch.arange(4), label_smoothing=0.1))


def fused(logits: torch.Tensor, targets: torch.Tensor, **how) -> torch.Tensor:
    return cross_entropy_from_states(logits, torch.eye(9), targets, at_once=2 * 9, **how)


SHAPES = [
    ({"logits": torch.zeros(1, 3, 9)}, r"logits or states must be floats .* got float32 \(1, 3, 9\)"),
    ({"targets": torch.ones(2).long()}, r"targets must be whole numbers \(3\), got int64 \(2,\)"),
    ({"targets": torch.ones(3)}, r"targets must be whole numbers \(3\), got float32 \(3,\)"),
    ({"label_smoothing": 1.0}, "label_smoothing must be at least 0 and below 1, got 1.0"),
]
VALUES = [
    ({"targets": torch.tensor([1, 2, 9])}, r"targets must be tokens of the vocabulary \(0 to 8\), got 9"),
    ({"targets": torch.tensor([1, -1, 2])}, r"targets must be tokens of the vocabulary \(0 to 8\), got -1"),
    ({"logits": torch.tensor([0.0, 0.0, torch.nan])[:, None].expand(3, 9)}, "finite, but those of position 2 hold nan"),
]


@pytest.mark.parametrize("loss", [cross_entropy_loss, fused])
@pytest.mark.parametrize(
    ("changes", "sentence", "check"),
    [(*one, check) for one in SHAPES for check in (True, False)] + [(*one, True) for one in VALUES],
)
def test_what_makes_no_sense_is_refused_in_words(loss, changes, sentence, check) -> None:
    given = {"logits": torch.zeros(3, 9), "targets": torch.ones(3).long(), "check": check} | changes
    with pytest.raises(ValueError, match=sentence):
        loss(**given)


@pytest.mark.parametrize("loss", [cross_entropy_loss, fused])
def test_unchecked_values_are_not_looked_at_and_narrow_targets_are_fine(loss) -> None:
    logits, targets = randn(3, 9), torch.tensor([1, 2, 3])
    assert loss(torch.full((3, 9), torch.nan), targets, check=False).isnan().all()
    assert torch.equal(loss(logits, targets.int()), loss(logits, targets))
