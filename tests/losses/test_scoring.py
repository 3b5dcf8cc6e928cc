"""Rows are worked on in blocks that stay in the cache; nobody should see where one ends."""

import pytest
import torch

from axenat.losses import scoring
from axenat.losses.axe import axe_loss
from axenat.losses.cross_entropy import cross_entropy_loss
from axenat.losses.projected import cross_entropy_from_states
from tests.reference.sentences import V, example, full


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_blocks_change_no_bit(rows, smoothing, monkeypatch) -> None:
    logits, targets = example(1, 3, 4, 4, torch.float32)
    logits.requires_grad_()
    matrix = torch.eye(V, requires_grad=True)

    def results() -> list[torch.Tensor]:
        axe = axe_loss(**full(logits, targets, label_smoothing=smoothing))
        flat = logits.view(-1, V), targets.flatten()
        plain = cross_entropy_loss(*flat, label_smoothing=smoothing)
        fused = cross_entropy_from_states(flat[0], matrix, flat[1], label_smoothing=smoothing)
        found = [axe.detach(), plain.detach(), fused.detach()]
        for loss in (axe, plain, fused):
            found += torch.autograd.grad(loss.sum(), (logits, matrix), allow_unused=True, materialize_grads=True)
        return found

    whole = results()
    monkeypatch.setitem(scoring.BLOCK, "cpu", rows * V)
    assert all(torch.equal(one, other) for one, other in zip(results(), whole, strict=True))


def test_a_mean_that_overflowed_is_found_in_any_block(monkeypatch) -> None:
    least = torch.finfo(torch.float32).min
    logits = torch.tensor([[1.0, 2.0, 3.0], [least, least, 0.0], [least, torch.nan, 0.0], [least, -torch.inf, 0.0]])
    monkeypatch.setitem(scoring.BLOCK, "cpu", 3)
    _, mean = scoring.normalise(logits)
    assert mean.isfinite().tolist() == [True, False, False, False]
    assert scoring.finite_means_(mean, logits).isfinite().tolist() == [True, True, False, False]
    torch.testing.assert_close(mean[:2], torch.tensor([2.0, least / 3 * 2]))
