"""The benchmark runs and reports what it promises; its figures are never tested, machines are noisy."""

import json
import sys
from collections import Counter
from itertools import islice

from benchmarks import preprocessing
from benchmarks.invented_text import invented_pairs, invented_word, lines_of_grammar


def test_every_figure_with_a_limit_is_measured_and_written(tmp_path, capsys) -> None:
    flags = ["--json", tmp_path / "out.json", "--rounds", 1, "--pairs", 30, 60, "--bpe-lines", 50, "--merges", 100]
    preprocessing.main([str(flag) for flag in flags])
    written = json.loads((tmp_path / "out.json").read_text())
    measured = {name for row in [written, *written["corpora"]] for name in row}
    for limits in preprocessing.LIMITS.values():
        assert set(limits) <= measured
    assert [row["pairs"] for row in written["corpora"]] == [row["kept"] for row in written["corpora"]] == [30, 60]
    for row in written["corpora"]:
        assert all(row["stages"][stage]["megabytes"] > 10 for stage in preprocessing.STAGES)
    assert "splitting, ours : one subword-nmt" in capsys.readouterr().out


def test_peaks_are_those_of_the_largest_process_of_a_family() -> None:
    child = "x = b'x' * (150 << 20); import time; time.sleep(0.3)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    seconds, megabytes = preprocessing.run_watched([sys.executable, "-c", code])
    assert seconds > 0.3 and 150 < megabytes < 200


def test_invented_words_are_different_for_different_numbers() -> None:
    assert len({invented_word(number) for number in range(100_000)}) == 100_000


def test_more_text_has_more_words_as_in_news() -> None:
    sizes = []
    for pairs in (1_000, 10_000):
        words = Counter(
            word for pair in islice(invented_pairs(lines_of_grammar(200)), pairs) for word in pair[1].split()
        )
        sizes.append(len(words))
    assert 4 < sizes[1] / sizes[0] < 8
