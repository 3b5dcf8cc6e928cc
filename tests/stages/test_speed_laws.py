"""`axenat speed` by a clock that stands still but in a turn, and from logs that were written by hand."""

import time
from collections.abc import Callable, Sequence

import pytest

from axenat.cli import main
from axenat.decode import speed as decoding
from axenat.decode.translator import Translator
from axenat.files import read_json, write_json, write_lines, write_text
from tests import tiny

LINES = ["the old man buys a car", "a car", "the woman sees the red car today .", "the man"]


@pytest.fixture
def study(tmp_path):
    """Untrained models."""
    runs = {name: tiny.run_folder(tmp_path / name, kind) for name, kind in (("t", "left_to_right"), ("s", "axe"))}
    for folder in runs.values():
        write_json(folder / "tuned.json", {"value": 1.0})
    write_text(runs["s"] / "checkpoints/speed.jsonl", '{"step": 10, "seconds": 1.0, "tokens_per_second": 7.0}\n')
    write_text(tmp_path / "logs/s.tsv", "s\n12.5\n")
    write_lines(tmp_path / "test.en", LINES)
    return tmp_path


def speed(study, *models: str, rounds: int = 1) -> int:
    folders = [str(study / "t"), str(study / "s")]
    texts = [str(study / "test.en")] * len(models)
    return main(
        [
            "speed",
            "--runs",
            *folders,
            "--benchmarks",
            str(study / "logs"),
            "--models",
            *models,
            "--sources",
            *texts,
            "--rounds",
            str(rounds),
            "--sentences",
            "3",
            "--out",
            str(study / "speed.json"),
            "--device",
            "cpu",
        ]
    )


# Seconds of each turn of a system, together and alone; the first turn is not counted, and the median is.
TURNS = {
    ("t", "beam2"): ((90.0, 6.0, 1.0, 4.0), (80.0, 0.3, 0.9, 0.6)),
    ("s", "ell5"): ((70.0, 2.0, 3.0, 0.5), (60.0, 0.06, 0.03, 0.09)),
}


def test_each_system_has_all_its_turns_on_the_same_first_sentences_and_the_median_counts(study, monkeypatch) -> None:
    """By a clock that stands still but in a turn."""
    now, turns = [0.0], []

    def timed(kind: int) -> Callable[[Translator, Sequence[list[int]]], Callable[[], None]]:
        def system(translator: Translator, sources: Sequence[list[int]]) -> Callable[[], None]:
            name = translator.folder.name, translator.record()["decode"]
            assert list(sources) == [translator.encode(words) for words in translator.tokenise(LINES[:3])]
            seconds = iter(TURNS[name][kind])

            def run() -> None:
                turns.append((kind, name))
                now[0] += next(seconds)

            return run

        return system

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(decoding, "in_batches", timed(0))
    monkeypatch.setattr(decoding, "one_by_one", timed(1))
    assert speed(study, f"{study / 't'}:beam2", f"{study / 's'}", rounds=3) == 0
    assert turns == [(kind, name) for kind in (0, 1) for _ in range(4) for name in TURNS]
    written = read_json(study / "speed.json")
    assert written["rounds"] == 3
    teacher, student = written["decoding"]
    assert [(row["run"], row["decode"], row["objective"]) for row in (teacher, student)] == [
        ("t", "beam2", "left_to_right"),
        ("s", "ell5", "axe"),
    ]
    assert (teacher["sentences_per_second"], student["sentences_per_second"]) == pytest.approx((3 / 4, 3 / 2))
    assert (teacher["latency_milliseconds"], student["latency_milliseconds"]) == pytest.approx((200.0, 20.0))


def test_each_training_has_the_numbers_of_its_own_log_and_of_its_own_job(study) -> None:
    """The median over its lines of the time of a step, which is that of all steps since the line before."""
    lines = [(10, 1.0, 70.0), (30, 4.0, 50.0), (40, 5.0, 90.0)]
    text = "".join(
        f'{{"step": {step}, "seconds": {seconds}, "tokens_per_second": {tokens}}}\n' for step, seconds, tokens in lines
    )
    write_text(study / "t/checkpoints/speed.jsonl", text)
    write_text(study / "logs/t.tsv", "s\n33.5\n")
    assert speed(study) == 0
    teacher, student = read_json(study / "speed.json")["training"]
    assert [(one["run"], one["objective"], one["steps"], one["tokens_per_step"]) for one in (teacher, student)] == [
        ("t", "left_to_right", 12, 64),
        ("s", "axe", 12, 64),
    ]
    assert (teacher["step_milliseconds"], teacher["tokens_per_second"]) == (200.0, 70.0)
    assert (student["step_milliseconds"], student["tokens_per_second"]) == (100.0, 7.0)
    assert (teacher["total_seconds"], student["total_seconds"]) == (33.5, 12.5)
