"""The transformer: padding is invisible, causal means no look to the right, and the cache changes nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from axenat.data.vocab import BOS, PAD
from tests import tiny

SOURCE = torch.tensor([[6, 7, 8, 2], [9, 2, PAD, PAD]])
SOURCE_LENGTHS = torch.tensor([4, 2])
CANVAS = torch.tensor([[4, 7, 4], [4, PAD, PAD]])
CANVAS_LENGTHS = torch.tensor([3, 1])


@given(st.integers(0, 20), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_padding_changes_nothing(seed, more_source, more_canvas, causal) -> None:
    model = tiny.model(seed=seed)
    with torch.inference_mode():
        plain = model(SOURCE, SOURCE_LENGTHS, CANVAS, CANVAS_LENGTHS, causal)
        # What stands in the padding must not matter either.
        padded = model(
            nn.functional.pad(SOURCE, (0, more_source), value=9),
            SOURCE_LENGTHS,
            nn.functional.pad(CANVAS, (0, more_canvas), value=9),
            CANVAS_LENGTHS,
            causal,
        )
    assert_close(padded.length_logits, plain.length_logits)
    for b, m in enumerate(CANVAS_LENGTHS.tolist()):
        assert_close(padded.states[b, :m], plain.states[b, :m])


@pytest.mark.parametrize("causal", [True, False])
def test_a_batch_is_its_sentences(causal) -> None:
    model = tiny.model()
    with torch.inference_mode():
        together = model(SOURCE, SOURCE_LENGTHS, CANVAS, CANVAS_LENGTHS, causal)
        for b, (s, m) in enumerate(zip(SOURCE_LENGTHS.tolist(), CANVAS_LENGTHS.tolist(), strict=True)):
            row = slice(b, b + 1)
            alone = model(SOURCE[row, :s], SOURCE_LENGTHS[row], CANVAS[row, :m], CANVAS_LENGTHS[row], causal)
            assert_close(alone.states[0], together.states[b, :m])
            assert_close(alone.length_logits, together.length_logits[row])


@given(st.integers(0, 20), st.integers(0, 4))
def test_a_causal_decoder_never_looks_right_and_another_one_does(seed, position) -> None:
    model = tiny.model(seed=seed)
    canvas, lengths = torch.tensor([[BOS, 6, 7, 8, 9]]), torch.tensor([5])
    changed = canvas.clone()
    changed[0, position] = 3
    with torch.inference_mode():
        encoded = model.encode(SOURCE[:1], SOURCE_LENGTHS[:1])
        for causal in (True, False):
            one, two = (model.decode(ids, lengths, encoded, causal)[0] for ids in (canvas, changed))
            before = one[:position], two[:position]
            assert torch.equal(*before) if causal else position == 0 or not torch.allclose(*before)
            assert not torch.allclose(one[position:], two[position:])


@given(st.integers(0, 20), st.integers(1, 3))
def test_a_cached_step_is_the_full_decoder(seed, hypotheses) -> None:
    """k hypotheses of each sentence side by side, one token at a time."""
    model = tiny.model(seed=seed, predicts_length=False)
    tokens = torch.randint(6, 10, (2, hypotheses, 5), generator=torch.Generator().manual_seed(seed))
    tokens[:, :, 0] = BOS
    with torch.inference_mode():
        encoded, cache, steps = model.encode(SOURCE, SOURCE_LENGTHS), [None] * 2, []
        for position in range(5):
            states, cache = model.decode_step(tokens[:, :, position], position, cache, encoded)
            steps.append(states)
        for k in range(hypotheses):
            whole = model.decode(tokens[:, k], torch.tensor([5, 5]), encoded, causal=True)
            assert_close(torch.stack([step[:, k] for step in steps], dim=1), whole)


def test_the_output_matrix_is_the_target_embedding_and_a_joint_model_shares_it_with_the_source() -> None:
    joint, separate = tiny.model(joint=True), tiny.model(joint=False)
    for model in (joint, separate):
        assert model.output_matrix is model.target_tokens.weight
    assert joint.source_tokens is joint.target_tokens
    assert separate.source_tokens is not separate.target_tokens
    names = [name for name, _ in separate.named_parameters()]
    assert len(names) == len(list(joint.named_parameters())) + 1


def test_weights_start_like_berts() -> None:
    model = tiny.model(size=500, width=64, heads=4, hidden=128, init_std=0.05)
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding) and module.weight.numel() > 2000:
            assert module.weight.std().item() == pytest.approx(0.05, rel=0.1)
            assert module.weight.mean().item() == pytest.approx(0.0, abs=0.005)
        if isinstance(module, nn.Linear):
            assert not module.bias.any()
        if isinstance(module, nn.LayerNorm):
            assert (module.weight == 1).all() and not module.bias.any()


def test_every_length_up_to_the_longest_is_possible_and_zero_is_not() -> None:
    model = tiny.model()
    logits = model.encode(SOURCE, SOURCE_LENGTHS).length_logits
    assert logits.shape == (2, model.max_positions + 1)
    assert (logits[:, 0] == -torch.inf).all() and logits[:, 1:].isfinite().all()


def test_without_a_length_head_there_are_no_lengths() -> None:
    model = tiny.model(predicts_length=False)
    assert model.encode(SOURCE, SOURCE_LENGTHS).length_logits is None
    assert not any("lengths" in name for name, _ in model.named_parameters())


def test_the_decoder_does_not_attend_to_the_length_token() -> None:
    model = tiny.model()
    encoded = model.encode(SOURCE, SOURCE_LENGTHS)
    assert all(keys.shape[2] == values.shape[2] == SOURCE.shape[1] for keys, values in encoded.memory)


def test_all_parameters_learn() -> None:
    model = tiny.model()
    output = model(SOURCE, SOURCE_LENGTHS, CANVAS, CANVAS_LENGTHS, False)
    (output.logits().square().sum() + output.length_logits[:, 1:].square().sum()).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_dropout_acts_in_training_only() -> None:
    model = tiny.model(dropout=0.5)
    arguments = (SOURCE, SOURCE_LENGTHS, CANVAS, CANVAS_LENGTHS, False)
    assert torch.equal(model(*arguments).states, model(*arguments).states)
    model.train()
    assert not torch.equal(model(*arguments).states, model(*arguments).states)
