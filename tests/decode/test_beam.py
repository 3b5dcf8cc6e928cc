"""Beam search finds what a slower search finds, whatever batch a sentence is in."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from axenat.config import DecodeConfig
from axenat.data.batches import pad
from axenat.data.vocab import EOS, UNK
from axenat.decode.beam import beam_search, longest_output
from axenat.decode.engines import engine_of
from axenat.decode.hypothesis import Hypothesis
from axenat.systems.registry import settings_of
from tests import tiny
from tests.reference.search import exhaustive, next_log_probs, plain_beam

V = 9
TOKENS = [UNK, 6, 7, 8]  # what may come out, beside <eos>
BANNED = (0, 1, 4, 5)
SOURCES = [[6, 7, 8, EOS], [8, EOS], [7, 7, EOS], [6, 8, 6, 8, EOS], [8, 8, 8, 8, EOS]]
penalties = st.sampled_from([0.0, 0.6, 1.0, 1.5])


def model(seed: int, max_positions: int = 12):
    return tiny.model(seed=seed, size=V, predicts_length=False, max_positions=max_positions, init_std=0.5)


@torch.inference_mode()
def search(network, sources, beam_size, length_penalty=1.0, number=1) -> list[list[Hypothesis]]:
    return beam_search(
        network, *pad(sources), beam_size=beam_size, length_penalty=length_penalty, banned=BANNED,
        num_hypotheses=number,
    )  # fmt: skip


@settings(max_examples=6)
@given(st.integers(0, 100), penalties)
def test_a_wide_beam_finds_what_exhaustive_search_finds(seed, penalty) -> None:
    network = model(seed, max_positions=4)
    source = SOURCES[0]
    with torch.inference_mode():
        truth = exhaustive(network, source, TOKENS, 4, penalty)
    (found,) = search(network, [source], len(truth), penalty)
    assert found[0].ids == truth[0][1]
    assert found[0].score == pytest.approx(truth[0][0], rel=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 1000), penalties, st.integers(1, 4), st.data())
def test_stopping_early_and_the_cache_change_none_of_the_best(seed, penalty, beam, data) -> None:
    network = model(seed, max_positions=7)
    number = data.draw(st.integers(1, beam))
    found = search(network, SOURCES[:3], beam, penalty, number)
    for source, hypotheses in zip(SOURCES[:3], found, strict=True):
        with torch.inference_mode():
            truth = plain_beam(network, source, TOKENS, longest_output(len(source), 7), penalty, beam)[:number]
        assert [one.ids for one in hypotheses] == [ids for _, ids in truth]
        assert [one.score for one in hypotheses] == pytest.approx([score for score, _ in truth], rel=1e-4)


@pytest.mark.parametrize("seed", [46, 137])
def test_an_open_hypothesis_may_still_overtake_by_growing(seed) -> None:
    """Two of the rare models where stopping at what is best as it stands would miss the winner."""
    network = model(seed, max_positions=10)
    for source, hypotheses in zip(SOURCES[:3], search(network, SOURCES[:3], 4, 2.5), strict=True):
        with torch.inference_mode():
            truth = plain_beam(network, source, TOKENS, longest_output(len(source), 10), 2.5, 4)
        assert hypotheses[0].ids == truth[0][1]


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_a_beam_of_one_is_greedy(seed) -> None:
    network = model(seed, max_positions=8)
    (found,) = search(network, [SOURCES[0]], 1)
    ids: list[int] = []
    with torch.inference_mode():
        while ids[-1:] != [EOS]:
            following = next_log_probs(network, SOURCES[0], ids, TOKENS)
            ids.append(max(following, key=lambda token: following[token]))
            if len(ids) == 8:
                break
    assert found[0].ids == ids
    assert found[0].ended == (ids[-1] == EOS)


@settings(max_examples=25)
@given(st.integers(0, 100), st.integers(1, 4), st.permutations(range(len(SOURCES))))
def test_batch_size_and_order_change_nothing(seed, beam, order) -> None:
    network = model(seed)
    alone = [search(network, [source], beam)[0] for source in SOURCES]
    together = search(network, [SOURCES[i] for i in order], beam)
    for i, hypotheses in zip(order, together, strict=True):
        assert hypotheses[0].ids == alone[i][0].ids
        assert hypotheses[0].score == pytest.approx(alone[i][0].score, rel=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 100), st.integers(1, 6))
def test_every_sentence_gets_hypotheses_that_end_once_best_first_without_banned_tokens(seed, beam) -> None:
    for source, hypotheses in zip(SOURCES, search(model(seed), SOURCES, beam, number=beam), strict=True):
        assert 1 <= len(hypotheses) <= beam
        assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)
        assert len({tuple(one.ids) for one in hypotheses}) == len(hypotheses)
        for one in hypotheses:
            assert one.ids.count(EOS) == one.ended == (one.ids[-1] == EOS)
            assert set(one.ids) <= {*TOKENS, EOS}
            assert len(one.ids) <= longest_output(len(source), 12)
            assert one.ended or len(one.ids) == longest_output(len(source), 12)


def test_a_runaway_hypothesis_is_cut_at_the_last_position_and_told_apart() -> None:
    network = model(1, max_positions=5)
    with torch.no_grad():
        network.target_tokens.weight[EOS] = 0.0
        network.target_tokens.weight[6:] *= 10
    for hypotheses in search(network, SOURCES, 2, length_penalty=5.0):
        assert all(len(one.ids) == 5 and not one.ended for one in hypotheses)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
@pytest.mark.parametrize("positions", [12, 19, 40])
def test_a_further_source_token_is_room_for_two_more_until_the_positions_end(engine, positions) -> None:
    """Of a model that never ends by itself; a source of <eos> alone has room for twelve."""
    network = model(1, max_positions=positions)
    with torch.no_grad():
        network.decoder[-1].norms[2].bias[0] = 9.0
        network.target_tokens.weight[EOS] = 0.0
        network.target_tokens.weight[EOS, 0] = -10.0
    teacher = engine_of(
        network, settings_of("left_to_right"), DecodeConfig(engine=engine, beam_size=2), torch.device("cpu")
    )
    sources = [[*[7] * words, EOS] for words in range(1, 12)]
    found = dict(teacher.decode(sources, 1.0))
    room = 12
    for row in range(len(sources)):
        room += 2
        assert len(found[row][0].ids) == (room if room < positions else positions)
        assert not found[row][0].ended


@pytest.mark.parametrize(("source", "positions", "longest"), [(1, 100, 12), (7, 100, 24), (45, 100, 100), (7, 24, 24)])
def test_a_runaway_ends_at_twice_its_source_and_ten_within_the_positions(source, positions, longest) -> None:
    """The searches here are compared at whatever length it says, so that no other test asks for the number."""
    assert longest_output(source, positions) == longest
