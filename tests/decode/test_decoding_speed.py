"""What `axenat speed` says of decoding, by a clock that goes on only when something is decoded."""

from types import SimpleNamespace

import pytest

from axenat import cli
from axenat.decode import speed as decoding_speed
from axenat.decode.engines import Parallel, TorchBeam
from axenat.decode.speed import ALONE
from axenat.files import read_json, write_json, write_lines
from axenat.systems.registry import MASKED
from tests import tiny
from tests.support import decoding

LINES = [f"{'the ' * (number % 5)}old man buys a car" for number in range(36)]
WARM_UP = 1000.0  # seconds, of the first call of each engine


class Clock:
    """Each call of an engine takes some seconds, and each of its sentences some more."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, []

    def decodes(self, name: str, call: float, sentence: float, decode):
        def timed(engine, sources, value, *more):
            new = not any(engine is known for known, *_ in self.calls)
            self.calls.append((engine, name, len(sources), value))
            self.now += call + sentence * len(sources) + (WARM_UP if new else 0.0)
            yield from decode(engine, sources, value, *more)

        return timed


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("axenat.timing.time", SimpleNamespace(perf_counter=lambda: made.now))
    monkeypatch.setattr(TorchBeam, "decode", made.decodes("teacher", 8.0, 0.5, TorchBeam.decode))
    monkeypatch.setattr(Parallel, "decode", made.decodes("student", 2.0, 0.25, Parallel.decode))
    return made


@pytest.fixture
def study(tmp_path):
    for name, kind, value in (("teacher", "left_to_right", 0.6), ("student", "axe", 1.25)):
        folder = tiny.run_folder(tmp_path / name, kind, shape={"max_positions": 12}, engine="torch")
        write_json(folder / "tuned.json", {"value": value})
    write_lines(tmp_path / "test.en", LINES)
    return tmp_path


def measured(study, sentences: int, rounds: int) -> dict[str, dict]:
    models = [f"{study / 'teacher'}:beam2", f"{study / 'student'}:ell3"]
    flags = ["--sources", *[str(study / "test.en")] * 2, "--sentences", str(sentences), "--rounds", str(rounds)]
    assert cli.main(["speed", "--models", *models, *flags, "--out", str(study / "speed.json"), "--device", "cpu"]) == 0
    return {row["run"]: row for row in read_json(study / "speed.json")["decoding"]}


@pytest.mark.parametrize("sentences", [7, 33])
def test_speed_is_of_all_sentences_at_once_and_latency_of_each_alone(study, clock, sentences) -> None:
    """Neither counts what an engine does once only. Of many sentences, the first few are decoded alone."""
    rows = measured(study, sentences, rounds=2)
    for name, call, sentence in (("teacher", 8.0, 0.5), ("student", 2.0, 0.25)):
        assert rows[name]["num_sentences"] == sentences
        assert rows[name]["sentences_per_second"] == pytest.approx(sentences / (call + sentence * sentences))
        assert rows[name]["latency_milliseconds"] == pytest.approx(1000 * (call + sentence))
        sizes = [size for _, who, size, _ in clock.calls if who == name]
        assert sizes == 3 * [sentences] + 3 * min(ALONE, sentences) * [1]


def test_empty_lines_are_no_sentences(study, clock) -> None:
    write_lines(study / "test.en", ["", "a car", " ", "the man"])
    for row in measured(study, 4, rounds=1).values():
        assert row["num_sentences"] == 2
    assert {size for *_, size, _ in clock.calls} == {1, 2}


def test_an_empty_line_does_not_stop_any_engine(study) -> None:
    write_lines(study / "test.en", ["a car", "", "the man"])
    for name in ("teacher", "student"):
        decoding.set_decode(study / name, engine="auto")
    assert {row["engine"] for row in measured(study, 3, rounds=1).values()} == {"ctranslate2", "onnx"}


def test_each_system_decodes_with_its_own_tuned_value(study, clock) -> None:
    measured(study, 3, rounds=1)
    assert {(name, value) for _, name, _, value in clock.calls} == {("teacher", 0.6), ("student", 1.25)}


def test_systems_take_turns(study, clock) -> None:
    measured(study, 3, rounds=2)
    assert [name for _, name, size, _ in clock.calls if size == 3] == 3 * ["teacher", "student"]


def test_one_by_one_all_threads_work_on_one_sentence(study, clock, monkeypatch) -> None:
    made, engine_of = [], decoding_speed.engine_of
    monkeypatch.setattr(
        decoding_speed,
        "engine_of",
        lambda *given, **how: made.append((MASKED.decoding.name(given[2]), how)) or engine_of(*given, **how),
    )
    measured(study, 3, rounds=1)
    assert [how for _, how in made] == 2 * [{"latency": True}]
    assert made[1][0] == "ell3"
    alone = {id(engine) for engine, _, size, _ in clock.calls if size == 1}
    assert not alone & {id(engine) for engine, _, size, _ in clock.calls if size == 3}
