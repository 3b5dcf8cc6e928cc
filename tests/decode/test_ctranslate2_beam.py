"""CTranslate2 finds what our own beam search finds, whatever batch a sentence is in."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from axenat.config import DecodeConfig
from axenat.data.vocab import EOS
from axenat.decode.ctranslate2_beam import LARGEST_WEIGHT, CTranslate2Beam, specification
from axenat.decode.engines import TorchBeam
from axenat.files import UserError
from tests import tiny

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


@settings(max_examples=20)
@given(st.integers(0, 100), st.integers(1, 4), st.permutations(range(len(SOURCES))), st.sampled_from([1, 40, 4096]))
def test_batch_order_budget_and_threads_change_nothing(seed, beam, order, tokens) -> None:
    network = model(seed)
    alone = [found_by(production(network, beam), [source])[0] for source in SOURCES]
    together = found_by(production(network, beam, threads=2, tokens=tokens), [SOURCES[i] for i in order])
    assert_same(together, [alone[i] for i in order])
    assert_same(found_by(production(network, beam, threads=2, latency=True)), alone)
