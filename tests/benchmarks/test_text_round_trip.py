"""The benchmark counts the lines that come back, and shows those that do not."""

import gzip
import json

import pytest

from benchmarks import text_round_trip


@pytest.mark.parametrize("name", ["lines.en", "lines.en.gz"])
def test_lines_that_come_back_are_counted_and_others_shown(name, tmp_path, capsys) -> None:
    lines = b"It's late.\n  A  cat,  a dog. \nToo much space .\n"
    (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    text_round_trip.main(["--file", str(tmp_path / name), "--language", "en", "--json", str(tmp_path / "out.json")])
    written = json.loads((tmp_path / "out.json").read_text())
    assert (written["lines"], written["exact"]) == (3, 2)
    assert written["changed"] == [{"line": "Too much space .", "after": "Too much space."}]
    assert written["tokenised_per_second"] > 0 and "Too much space ." in capsys.readouterr().out
