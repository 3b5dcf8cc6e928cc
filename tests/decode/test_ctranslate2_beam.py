"""CTranslate2 finds what our own beam search finds, whatever batch a sentence is in."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from axenat.config import DecodeConfig
from axenat.data.vocab import EOS
from axenat.decode.beam import longest_output
from axenat.decode.ctranslate2_beam import LARGEST_WEIGHT, CTranslate2Beam, specification
from axenat.decode.engines import TorchBeam
from axenat.files import UserError
from tests import tiny
from tests.reference.search import next_log_probs

CPU = torch.device("cpu")
BANNED = (0, 1, 4, 5)
SOURCES = [[6, 7, 8, EOS], [8, EOS], [7, 7, EOS], [6, 8, 6, 8, EOS], [8, 8, 8, 8, EOS], [9, 6, EOS], [8, EOS]]
penalties = st.sampled_from([0.0, 0.6, 1.0, 1.5])


def model(seed: int, **changes):
    return tiny.model(seed=seed, predicts_length=False, **{"max_positions": 12, "init_std": 0.5, **changes})


def production(network, beam=4, precision="float32", threads=1, tokens=4096, latency=False) -> CTranslate2Beam:
    decode = DecodeConfig(beam_size=beam, tokens_per_batch=tokens)
    return CTranslate2Beam(network, BANNED, decode, CPU, precision, threads, latency)


def found_by(engine, sources=SOURCES, penalty=1.0, number=1):
    found = dict(engine.decode(sources, penalty, number))
    return [found[row] for row in range(len(sources))]


def assert_same(one, other) -> None:
    for left, right in zip(one, other, strict=True):
        assert [hypothesis.ids for hypothesis in left] == [hypothesis.ids for hypothesis in right]
        assert [hypothesis.ended for hypothesis in left] == [hypothesis.ended for hypothesis in right]
        scores = [hypothesis.score for hypothesis in right]
        assert [hypothesis.score for hypothesis in left] == pytest.approx(scores, rel=1e-4)


@settings(max_examples=40)
@given(st.integers(0, 1000), penalties, st.integers(1, 5), st.sampled_from([5, 9, 12]), st.booleans())
def test_it_finds_what_torch_finds_runaways_included(seed, penalty, beam, positions, joint) -> None:
    network = model(seed, max_positions=positions, joint=joint)
    torch_beam = TorchBeam(network, BANNED, DecodeConfig(beam_size=beam), CPU, "float32")
    assert_same(found_by(production(network, beam), penalty=penalty), found_by(torch_beam, penalty=penalty))


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([0.6, 1.0]), st.integers(2, 5))
def test_so_are_the_best_of_several(seed, penalty, beam) -> None:
    network = model(seed)
    torch_beam = TorchBeam(network, BANNED, DecodeConfig(beam_size=beam), CPU, "float32")
    assert_same(
        found_by(production(network, beam), penalty=penalty, number=beam),
        found_by(torch_beam, penalty=penalty, number=beam),
    )


@settings(max_examples=8)
@given(st.integers(0, 100), st.integers(1, 4), st.permutations(range(len(SOURCES))), st.sampled_from([1, 40, 4096]))
def test_batch_order_budget_and_threads_change_nothing(seed, beam, order, tokens) -> None:
    network = model(seed)
    engine = production(network, beam)
    alone = [found_by(engine, [source])[0] for source in SOURCES]
    together = found_by(production(network, beam, threads=2, tokens=tokens), [SOURCES[i] for i in order])
    assert_same(together, [alone[i] for i in order])
    assert_same(found_by(production(network, beam, threads=2, latency=True)), alone)


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_a_beam_of_one_is_greedy(seed) -> None:
    network = model(seed)
    for source, (found,) in zip(SOURCES, found_by(production(network, beam=1)), strict=True):
        ids: list[int] = []
        with torch.inference_mode():
            while ids[-1:] != [EOS] and len(ids) < longest_output(len(source), 12):
                following = next_log_probs(network, source, ids, [3, 6, 7, 8, 9])
                ids.append(max(following, key=lambda token: following[token]))
        assert found.ids == ids


def test_quantised_weights_leave_room_for_a_sum_of_two_products() -> None:
    spec = specification(model(1), quantised=True)
    for linear in (
        spec.decoder.projection,
        spec.encoder.layer[0].ffn.linear_0,
        *spec.decoder.layer[0].attention.linear,
    ):
        weight = linear.weight.numpy()
        assert weight.dtype == np.int8
        assert (np.abs(weight).max(axis=1) == LARGEST_WEIGHT).all()
        assert 2 * 255 * LARGEST_WEIGHT < 2**15
    exact = model(1).output_matrix.detach().numpy()
    projection = spec.decoder.projection
    rounded = projection.weight.numpy() / projection.weight_scale.numpy()[:, None]
    assert np.abs(rounded - exact).max() <= np.abs(exact).max() / LARGEST_WEIGHT / 2 + 1e-6


def test_int8_scores_what_float32_scores_but_for_rounding() -> None:
    network = model(3, width=64, hidden=128, init_std=0.1)
    exact, rounded = (found_by(production(network, precision=precision)) for precision in ("float32", "int8"))
    for one, two in zip(exact, rounded, strict=True):
        assert two[0].score == pytest.approx(one[0].score, rel=0.05)
    assert exact != rounded


def test_a_precision_that_the_device_cannot_do_is_one_sentence() -> None:
    with pytest.raises(UserError, match="float16: ctranslate2 cannot do it on this cpu; allowed are float32, int8"):
        production(model(1), precision="float16")


def test_the_best_of_several_without_a_length_penalty_are_left_to_torch() -> None:
    with pytest.raises(UserError, match="may miss the next best ones; use --engine torch"):
        found_by(production(model(1)), penalty=0.0, number=2)
