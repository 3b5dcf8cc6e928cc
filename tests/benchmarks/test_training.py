"""The benchmark runs and reports what it promises; its figures are never tested, machines are noisy."""

import json

import numpy as np
import pytest
import torch

from axenat.config import ModelConfig
from axenat.data.vocab import BOS, EOS, PAD
from benchmarks import measure, plain_loop, training

TINY = ModelConfig(width=8, heads=2, hidden=16, encoder_layers=1, decoder_layers=1, max_positions=64, dropout=0.0)


@pytest.fixture
def small(monkeypatch) -> None:
    size = training.Size(TINY, 20, 100, training.demo_lengths, 60, 2)
    monkeypatch.setattr(training, "SIZES", {"demo": size})
    monkeypatch.setattr(training, "CORPORA", (30, 60))
    monkeypatch.setattr(training, "in_fresh_process", lambda function, *arguments: function(*arguments))


def test_every_figure_with_a_limit_is_measured_and_written(small, tmp_path, capsys) -> None:
    training.main(["--json", str(tmp_path / "out.json"), "--rounds", "1"])
    written = json.loads((tmp_path / "out.json").read_text())
    measured = {name for row in [*written["speeds"], *written["corpora"], written["memory"]] for name in row}
    for limits in training.LIMITS.values():
        assert set(limits) <= measured
    assert {row["objective"] for row in written["speeds"]} == set(training.OBJECTIVES)
    assert [row["pairs"] for row in written["corpora"]] == [30, 60]
    assert sum(written["speeds"][0]["stages"].values()) == pytest.approx(1)
    assert "tokens/s ours : plain, demo, masked" in capsys.readouterr().out


@pytest.mark.parametrize("lengths", [training.demo_lengths, training.caption_lengths])
def test_a_random_corpus_has_the_lengths_asked_for(lengths, tmp_path) -> None:
    columns = lengths(np.random.default_rng(1), 50)
    corpus = training.ParallelCorpus(training.random_corpus(tmp_path / "ids", columns, 20))
    assert corpus.source_lengths[:].tolist() == columns[0].tolist()
    assert corpus.target_lengths[:].tolist() == columns[1].tolist()


@pytest.mark.parametrize("objective", plain_loop.LOSSES)
def test_padding_changes_nothing_for_the_plain_loop_either(objective) -> None:
    """Else it would not be a fair one: it must compute what it claims to."""
    model = plain_loop.PlainTransformer(TINY, 20)
    source, target = torch.tensor([[6, 7, EOS]]), torch.tensor([[8, 9, EOS]])
    padded = [torch.nn.functional.pad(side, (0, 2), value=PAD) for side in (source, target)]
    for causal in (False, True):
        shifted = torch.cat([torch.full((1, 1), BOS), target[:, :-1]], 1)
        longer = torch.nn.functional.pad(shifted, (0, 2), value=PAD)
        plain = model(source, shifted, shifted == PAD, causal)[0]
        torch.testing.assert_close(model(padded[0], longer, longer == PAD, causal)[0][:, :3], plain)
    torch.manual_seed(1)
    assert plain_loop.LOSSES[objective](model, source.repeat(20, 1), target.repeat(20, 1), 0.1).isfinite()


def fill() -> dict[str, float]:
    with measure.peaks() as peak:
        kept = bytearray(b"x" * (100 << 20))
    return {**peak, "bytes": len(kept)}


def test_peaks_see_what_was_held() -> None:
    peak = measure.in_fresh_process(fill)
    assert 100 < peak["anonymous_megabytes"] < peak["resident_megabytes"]
