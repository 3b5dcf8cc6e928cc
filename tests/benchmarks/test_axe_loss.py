"""The benchmark runs and reports what it promises; its figures are never tested, machines are noisy."""

import json

import pytest

from axenat.config import ModelConfig
from benchmarks import axe_loss, measure


@pytest.fixture
def small(monkeypatch) -> None:
    tiny = ModelConfig(width=8, heads=2, hidden=16, encoder_layers=1, decoder_layers=1, max_positions=16)
    monkeypatch.setattr(axe_loss, "SIZES", [(2, 3, 20)])
    monkeypatch.setattr(axe_loss, "WIDTH", 4)
    monkeypatch.setattr(axe_loss, "MODELS", {"demo": (tiny, 20, 3, 6)})
    monkeypatch.setattr(axe_loss, "peak_megabytes", lambda *arguments: 1.0)


def test_every_ratio_with_a_limit_is_measured_and_written(small, tmp_path, capsys) -> None:
    axe_loss.main(["--json", str(tmp_path / "out.json"), "--rounds", "1"])
    written = json.loads((tmp_path / "out.json").read_text())
    measured = {name for rows in written.values() if isinstance(rows, list) for row in rows for name in row}
    assert set(axe_loss.LIMITS) <= measured
    assert written["machine"]["torch"] and written["benchmark"] == "axe_loss"
    assert "fused AXE : plain CE, B=2 n=3 V=20 D=4" in capsys.readouterr().out


def big() -> object:
    kept = []
    return lambda: kept.append(bytearray(b"x" * (200 << 20)))


def test_the_peak_is_what_the_function_adds() -> None:
    assert 190 < measure.peak_megabytes(big) < 450  # the bytes, once more while they are copied
