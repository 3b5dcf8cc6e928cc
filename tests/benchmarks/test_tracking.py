"""The benchmark runs and reports what it promises; its figures are never tested, machines are noisy."""

import json

import pytest

from benchmarks import tracking


@pytest.mark.slow
def test_every_figure_with_a_limit_is_measured_for_each_store(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")  # the benchmark sets it
    size = tracking.SIZES["demo"]
    monkeypatch.setitem(tracking.SIZES, "demo", type(size)(size.model, size.V, 100, size.lengths, 60, 2))
    tracking.main(["--json", str(tmp_path / "out.json"), "--rounds", "1", "--seconds", "0.5"])
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["stores"].keys() == set(tracking.STORES)
    for row in written["stores"].values():
        assert set(tracking.LIMITS["at_most"]) <= row.keys()
        assert row["tokens_per_second"] > 0
    assert "silent" in capsys.readouterr().out
