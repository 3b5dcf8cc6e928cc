"""The passes on ONNX Runtime: those of torch, quicker."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from axenat.data.batches import pad
from axenat.data.vocab import EOS, MASK, PAD
from axenat.decode import passes
from axenat.decode.onnx_graph import quantised
from axenat.decode.onnx_passes import PRECISIONS, OnnxPasses
from axenat.decode.parallel import parallel_decode
from axenat.decode.passes import TorchPasses
from axenat.files import UserError
from tests import tiny

BANNED = (PAD, 1, MASK)
SOURCES = [[6, 7, 8, EOS], [8, EOS], [7, 7, EOS], [6, 8, 6, 8, 9, EOS], [EOS]]
SAME = {"rtol": 1e-4, "atol": 1e-5}
precisions = pytest.mark.parametrize("precision", PRECISIONS)


@pytest.fixture(autouse=True)
def _no_gradients():
    with torch.inference_mode():
        yield


def canvases(copies: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Some tokens shown, some hidden, `copies` canvases to each of SOURCES, of all lengths."""
    rng = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 10, (len(SOURCES) * copies,), generator=rng)
    lengths[0] = 9
    canvas = torch.randint(MASK, 10, (len(lengths), 9), generator=rng)
    return canvas.masked_fill(torch.arange(9) >= lengths[:, None], PAD), lengths


def onnx(network, precision="float32", banned=BANNED) -> OnnxPasses:
    return OnnxPasses(network, banned, precision=precision, threads=1)


def assert_same(found, expected) -> None:
    assert torch.equal(found[0], expected[0])
    assert_close(found[1], expected[1], **SAME)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("eps", [1e-5, 1e-2])
def test_it_reads_and_fills_as_torch_does(seed, joint, eps) -> None:
    network = tiny.model(seed=seed, joint=joint, layer_norm_eps=eps)
    slow, fast = TorchPasses(network, BANNED), onnx(network)
    slow_sources, fast_sources = slow.read(*pad(SOURCES)), fast.read(*pad(SOURCES))
    assert fast.max_positions == slow.max_positions
    assert_close(fast_sources.length_logits, slow_sources.length_logits, **SAME)
    for copies in (1, 3):
        page = canvases(copies, seed)
        assert_same(fast.fill(*page, fast_sources), slow.fill(*page, slow_sources))


def test_trained_biases_and_norms_count_as_well() -> None:
    """A new model's are zeros and ones, which hide a mistake."""
    network = tiny.model()
    for parameter in network.parameters():
        parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel()))
    slow, fast = TorchPasses(network, BANNED), onnx(network)
    page, text = canvases(3), pad(SOURCES)
    assert_same(fast.fill(*page, fast.read(*text)), slow.fill(*page, slow.read(*text)))


@pytest.mark.parametrize("banned", [(), (PAD,), (9, 2, 5), tuple(range(1, 10))])
def test_banned_tokens_have_no_probability(banned) -> None:
    network, page, text = tiny.model(seed=3), canvases(1), pad(SOURCES)
    slow, fast = TorchPasses(network, banned), onnx(network, banned=banned)
    assert_same(fast.fill(*page, fast.read(*text)), slow.fill(*page, slow.read(*text)))


@precisions
@pytest.mark.parametrize("only", [0, 7])
def test_all_probability_goes_to_what_is_not_banned(precision, only) -> None:
    fast = onnx(tiny.model(), precision, tuple(token for token in range(10) if token != only))
    canvas, lengths = canvases(1)
    ids, log_probs = fast.fill(canvas, lengths, fast.read(*pad(SOURCES)))
    assert (ids[torch.arange(9) < lengths[:, None]] == only).all()
    assert (log_probs == 0).all()


@precisions
def test_a_batch_equals_its_sentences(precision) -> None:
    fast = onnx(tiny.model(seed=2), precision)
    canvas, lengths = canvases(3)
    sources = fast.read(*pad(SOURCES))
    ids, log_probs = fast.fill(canvas, lengths, sources)
    for i, source in enumerate(SOURCES):
        alone, its = fast.read(*pad([source])), slice(3 * i, 3 * i + 3)
        assert_close(alone.length_logits[0], sources.length_logits[i], **SAME)
        m = int(lengths[its].max())
        found = fast.fill(canvas[its, :m].contiguous(), lengths[its], alone)
        assert_same(found, (ids[its, :m], log_probs[its, :m]))


@precisions
def test_padding_changes_nothing(precision) -> None:
    fast = onnx(tiny.model(seed=5), precision)
    (source, source_lengths), (canvas, lengths) = pad(SOURCES), canvases(3)
    found = fast.fill(canvas, lengths, fast.read(source, source_lengths))
    wider = fast.read(F.pad(source, (0, 3), value=7), source_lengths)
    ids, log_probs = fast.fill(F.pad(canvas, (0, 3), value=8), lengths, wider)
    assert_same((ids[:, :9], log_probs[:, :9]), found)
    assert (ids[:, 9:] == PAD).all() and (log_probs[:, 9:] == 0).all()


@precisions
@pytest.mark.parametrize("at_once", [1, 50, 70])
def test_slices_change_nothing(precision, at_once, monkeypatch) -> None:
    fast, page = onnx(tiny.model(), precision), canvases(3)
    sources = fast.read(*pad(SOURCES))
    whole = fast.fill(*page, sources)
    monkeypatch.setattr(passes, "LOGITS_AT_ONCE", at_once)
    assert_same(fast.fill(*page, sources), whole)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("iterations", [1, 4])
def test_decoding_with_it_gives_the_same_hypotheses(seed, iterations) -> None:
    network = tiny.model(seed=seed)
    slow, fast = (
        parallel_decode(
            engine, *pad(SOURCES), num_length_candidates=3, length_multiplier=1.1, iterations=iterations
        )
        for engine in (TorchPasses(network, BANNED), onnx(network))
    )  # fmt: skip
    for one, other in zip(fast, slow, strict=True):
        assert [hypothesis.ids for hypothesis in one] == [hypothesis.ids for hypothesis in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], rel=1e-4)


def copying_model(steps: int = 150):
    """Trained for a second or two to say what it hears."""
    network = tiny.model(size=30, width=32, hidden=64, init_std=0.1)
    rng = torch.Generator().manual_seed(3)
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    lengths = torch.full((32,), 6)
    for _ in range(steps):
        source = torch.randint(6, 30, (32, 6), generator=rng)
        output = network(source, lengths, torch.full_like(source, MASK), lengths, causal=False)
        loss = F.cross_entropy(output.logits().flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network


def test_int8_says_nearly_what_float32_says() -> None:
    with torch.inference_mode(False):
        network = copying_model()
    source = torch.randint(6, 30, (50, 6), generator=torch.Generator().manual_seed(4))
    lengths = torch.full((50,), 6)
    canvas = torch.full_like(source, MASK)
    exact, quick = (
        engine.fill(canvas, lengths, engine.read(source, lengths)) for engine in (onnx(network), onnx(network, "int8"))
    )
    assert (exact[0] == source).float().mean() > 0.9  # it has learnt something
    assert (quick[0] == exact[0]).float().mean() > 0.97
    assert (quick[1] - exact[1]).abs().mean() < 1e-3  # four bits, or eight that overflow, are further off


def test_whole_weights_are_the_nearest_and_two_products_with_them_fit_in_sixteen_bits() -> None:
    matrix = torch.randn(7, 40, generator=torch.Generator().manual_seed(0))
    matrix[3] = 0
    whole, scale = quantised(matrix)
    assert ((whole.T * scale[:, None] - matrix).abs() <= 0.501 * scale[:, None]).all()
    assert 255 * 2 * int(whole.abs().max()) < 2**15


def test_int8_survives_a_row_of_zeros() -> None:
    """Its largest value, by which it would be divided, is zero."""
    network = tiny.model()
    for layer in (*network.encoder, *network.decoder):
        layer.feed_forward[0].weight.zero_()
    page, text = canvases(1), pad(SOURCES)
    slow, fast = onnx(network), onnx(network, "int8")
    _, expected = slow.fill(*page, slow.read(*text))
    _, found = fast.fill(*page, fast.read(*text))
    assert_close(found, expected, rtol=0, atol=0.5)


def test_a_canvas_beyond_the_models_positions_is_refused() -> None:
    fast = onnx(tiny.model(max_positions=8))
    with pytest.raises(UserError, match=r"model\.max_positions is 8, but a canvas has 9 positions"):
        fast.fill(*canvases(1), fast.read(*pad(SOURCES)))


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(UserError, match="precision float16: onnx cannot do it; allowed are float32, int8"):
        onnx(tiny.model(), "float16")
