"""Cross entropy position by position, smoothed over the whole vocabulary."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from axenat.losses.cross_entropy import cross_entropy_loss


@given(seed=st.integers(0, 1000), size=st.integers(0, 6), smoothing=st.sampled_from([0.0, 0.1, 0.5]))
def test_it_is_the_smoothed_negative_log_probability_of_each_position(seed, size, smoothing) -> None:
    rng = torch.Generator().manual_seed(seed)
    logits, targets = torch.randn(size, 9, generator=rng), torch.randint(9, (size,), generator=rng)
    costs = -logits.log_softmax(-1)
    expected = (1 - smoothing) * costs.gather(1, targets[:, None])[:, 0] + smoothing / 9 * costs.sum(1)
    assert_close(cross_entropy_loss(logits, targets, label_smoothing=smoothing), expected)


def test_narrow_logits_are_summed_in_float32() -> None:
    logits = torch.randn(4, 9).bfloat16()
    loss = cross_entropy_loss(logits, torch.arange(4), label_smoothing=0.1)
    assert loss.dtype == torch.float32
    assert_close(loss, cross_entropy_loss(logits.float(), torch.arange(4), label_smoothing=0.1))
