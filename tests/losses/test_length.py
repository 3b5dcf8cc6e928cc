"""The length loss is one classification per sentence."""

import torch
from torch.testing import assert_close

from axenat.losses.length import length_loss


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def test_it_is_the_negative_log_probability_of_the_length() -> None:
    logits, lengths = randn(3, 8), torch.tensor([1, 7, 4])
    assert_close(length_loss(logits, lengths), -logits.log_softmax(-1)[torch.arange(3), lengths])


def test_the_impossible_length_zero_harms_no_other() -> None:
    logits = randn(3, 8)
    logits[:, 0] = -torch.inf
    logits.requires_grad_()
    loss = length_loss(logits, torch.tensor([1, 7, 4]))
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert loss.isfinite().all() and gradient.isfinite().all()
