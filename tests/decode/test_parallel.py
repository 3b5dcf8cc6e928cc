"""One-pass decoding: lengths as configured, the best candidate wins, and batches are invisible."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from axenat.data.batches import pad
from axenat.data.vocab import BLANK, EOS, MASK
from axenat.decode.parallel import SHORTEST, length_candidates, parallel_decode, shortest
from axenat.decode.passes import TorchPasses, repeat
from tests import tiny
from tests.reference.mask_predict import candidates_slowly, mask_predict_slowly

BANNED = (0, 1, 4)
SOURCES = [[6, 7, 8, EOS], [8, EOS], [7, 7, EOS], [6, 8, 6, 8, 9, EOS]]


def decode(network, sources, ell=3, multiplier=1.0, banned=BANNED, **how):
    return [found[0] for found in candidates(network, sources, ell, multiplier, banned, **how)]


@torch.inference_mode()
def candidates(network, sources, ell=3, multiplier=1.0, banned=BANNED, **how):
    passes = TorchPasses(network, banned)
    return parallel_decode(passes, *pad(sources), num_length_candidates=ell, length_multiplier=multiplier, **how)


def logits_for(*ranked: int, classes: int = 200) -> torch.Tensor:
    """Length logits whose likeliest classes are these, best first."""
    logits = torch.zeros(1, classes)
    logits[0, 0] = -torch.inf
    for rank, length in enumerate(ranked):
        logits[0, length] = 10.0 - rank
    return logits


@given(
    st.lists(st.integers(1, 150), min_size=1, max_size=5, unique=True),
    st.sampled_from(range(50, 200)),
    st.integers(2, 199),
)
def test_lengths_are_the_likeliest_times_lambda_rounded_half_up_and_clamped(ranked, hundredths, longest) -> None:
    found = length_candidates(logits_for(*ranked), len(ranked), hundredths / 100, longest)
    exact = [(length * hundredths * 2 + 100) // 200 for length in ranked]  # in whole numbers, so half is half
    assert found.tolist() == [[min(max(length, SHORTEST), longest) for length in exact]]


@pytest.mark.parametrize(("length", "multiplier", "expected"), [(10, 1.05, 11), (50, 1.01, 51), (49, 1.01, 49)])
def test_a_half_goes_up_although_floats_are_not_exact(length, multiplier, expected) -> None:
    assert length_candidates(logits_for(length), 1, multiplier, 150).item() == expected


def test_asking_for_more_lengths_than_there_are_gives_all_and_never_zero() -> None:
    found = length_candidates(logits_for(3, classes=5), 9, 1.0, 4)
    assert found.shape == (1, 4)
    assert (found >= SHORTEST).all()


@pytest.mark.parametrize(("eos", "expected"), [("keep", [2, 3]), ("drop", [1, 3])])
def test_without_eos_a_translation_may_have_one_position(eos, expected) -> None:
    assert length_candidates(logits_for(1, 3), 2, 1.0, 9, shortest(eos == "drop")).tolist() == [expected]


def test_each_sentence_is_repeated_side_by_side() -> None:
    network = tiny.model()
    encoded = network.encode(*pad(SOURCES[:2]))
    thrice = repeat(encoded, 3)
    for (keys, _), (more, _) in zip(encoded.memory, thrice.memory, strict=True):
        assert torch.equal(more[:3], keys[:1].expand(3, -1, -1, -1))
        assert torch.equal(more[3:], keys[1:].expand(3, -1, -1, -1))
    assert thrice.mask is not None and encoded.mask is not None
    assert torch.equal(thrice.mask[::3], encoded.mask)


@settings(max_examples=25)
@given(st.integers(0, 200), st.integers(1, 5), st.sampled_from([0.8, 1.0, 1.3]))
def test_the_winner_has_the_highest_mean_log_probability_of_all_candidates(seed, ell, multiplier) -> None:
    """The slow truth: each sentence and each length in a pass of its own."""
    network = tiny.model(seed=seed)
    for source, winner in zip(SOURCES, decode(network, SOURCES, ell, multiplier), strict=True):
        with torch.inference_mode():
            encoded = network.encode(torch.tensor([source]), torch.tensor([len(source)]))
            lengths = length_candidates(encoded.length_logits, ell, multiplier, network.max_positions)[0]
            scores, texts = [], []
            for length in lengths.tolist():
                states = network.decode(torch.full((1, length), MASK), torch.tensor([length]), encoded, causal=False)
                logits = states[0] @ network.output_matrix.T
                logits[:, list(BANNED)] = -torch.inf
                best, ids = logits.log_softmax(-1).max(-1)
                scores.append(best.mean().item())
                texts.append(ids.tolist())
        assert winner.score == pytest.approx(max(scores), rel=1e-4)
        assert winner.ids == texts[scores.index(max(scores))]


@settings(max_examples=25)
@given(st.integers(0, 200), st.permutations(range(len(SOURCES))))
def test_batch_size_and_order_change_nothing(seed, order) -> None:
    network = tiny.model(seed=seed)
    alone = [decode(network, [source])[0] for source in SOURCES]
    together = decode(network, [SOURCES[i] for i in order])
    for i, found in zip(order, together, strict=True):
        assert found.ids == alone[i].ids
        assert math.isclose(found.score, alone[i].score, rel_tol=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 200), st.sets(st.integers(0, 9), max_size=8))
def test_banned_tokens_never_come_out(seed, banned) -> None:
    network = tiny.model(seed=seed)
    for found in decode(network, SOURCES, banned=tuple(banned)):
        assert not banned & set(found.ids)
        assert found.score <= 1e-6


def test_more_candidates_never_lower_the_score() -> None:
    network = tiny.model(seed=3)
    scores = torch.tensor([[one.score for one in decode(network, SOURCES, ell)] for ell in (1, 2, 4, 8)])
    assert (scores.diff(dim=0) >= -1e-6).all()
    assert_close(scores[-1], scores.max(0).values, rtol=1e-4, atol=1e-5)


@settings(max_examples=25)
@given(st.integers(0, 200), st.integers(1, 5), st.sampled_from([0.5, 1.0, 3.0]))
def test_candidates_come_best_first_each_of_another_length(seed, ell, multiplier) -> None:
    for found in candidates(tiny.model(seed=seed), SOURCES, ell, multiplier):
        scores, lengths = [one.score for one in found], [len(one.ids) for one in found]
        assert scores == sorted(scores, reverse=True)
        assert 1 <= len(set(lengths)) == len(lengths) <= ell


@settings(max_examples=25)
@given(st.integers(0, 200), st.integers(1, 10), st.sampled_from([(0, 1, 4), (0, 1, 4, BLANK)]))
def test_further_passes_hide_the_least_certain_and_every_blank(seed, iterations, banned) -> None:
    network = tiny.model(seed=seed)
    together = candidates(network, SOURCES, 2, banned=banned, iterations=iterations)
    for source, found in zip(SOURCES, together, strict=True):
        for one in found:
            with torch.inference_mode():
                ids, log_probs = mask_predict_slowly(network, source, len(one.ids), iterations, banned)
            assert one.ids == ids
            assert math.isclose(one.score, sum(log_probs) / len(ids), rel_tol=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 200), st.sampled_from([1, 4]), st.sampled_from(["positions", "tokens", "sum"]))
def test_candidates_come_in_the_order_of_their_norm(seed, iterations, norm) -> None:
    network = tiny.model(seed=seed)
    how = {"iterations": iterations, "ell": 4, "multiplier": 1.3}
    for source, found in zip(SOURCES, candidates(network, SOURCES, rank_norm=norm, **how), strict=True):
        with torch.inference_mode():
            slow = candidates_slowly(network, source, BANNED, norm=norm, **how)
        assert [one.ids for one in found] == [ids for _, ids in slow]
        assert [one.score for one in found] == pytest.approx([score for score, _ in slow], rel=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 200), st.sampled_from([1, 4]))
def test_scores_of_all_norms_are_of_the_same_log_probability(seed, iterations) -> None:
    network = tiny.model(seed=seed)
    by = {
        norm: candidates(network, SOURCES, 4, rank_norm=norm, iterations=iterations)
        for norm in ("positions", "tokens", "sum")
    }
    for one, two, three in zip(*by.values(), strict=True):
        mean = {tuple(found.ids): found.score for found in one}
        for found in three:
            assert math.isclose(found.score, mean[tuple(found.ids)] * len(found.ids), rel_tol=1e-4)
        for found in two:
            tokens = max(1, sum(token != BLANK for token in found.ids))
            assert math.isclose(found.score, mean[tuple(found.ids)] * len(found.ids) / tokens, rel_tol=1e-4)


def test_logits_in_slices_change_nothing(monkeypatch) -> None:
    network = tiny.model(seed=2)
    whole = candidates(network, SOURCES)
    monkeypatch.setattr("axenat.decode.passes.LOGITS_AT_ONCE", 16)
    for one, two in zip(whole, candidates(network, SOURCES), strict=True):
        assert [found.ids for found in one] == [found.ids for found in two]
