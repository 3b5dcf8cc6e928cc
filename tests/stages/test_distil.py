"""However many shards there are, and however often they are killed, the teacher's text is the same."""

import os
import shutil
import signal
import subprocess
import sys
from itertools import pairwise

import pytest

from axenat.data.chunks import chunk_bounds
from axenat.decode.shard import LOCK, Parts
from axenat.decode.translator import Translator
from axenat.files import UserError, alone, read_json, read_lines, read_yaml, write_json, write_lines, write_yaml
from axenat.stages import distil
from tests import tiny
from tests.distilling import LINES, killer, teacher, write_corpus
from tests.support.house import run

CHUNK_SIZES = [end - start for start, end in pairwise(chunk_bounds(LINES))]


def flags(place, shard: str) -> dict:
    out = place / f"{shard}.target"
    return {"model": place / "teacher", "source": place / "train.source", "shard": shard, "out": out,
            "record": place / f"{shard}.json", "device": "cpu", "threads": 1}  # fmt: skip


def distilled(place, shards: int) -> bytes:
    names = [f"{number}-of-{shards}" for number in range(1, shards + 1)]
    for name in names:
        run(distil, **flags(place, name))
    return b"".join((place / f"{name}.target").read_bytes() for name in names)


def kill(place, shard: str, chunks: int, tmp_path) -> None:
    """A process of its own, dead after so many chunks."""
    words = [str(word) for key, value in flags(place, shard).items() for word in (f"--{key}", value)]
    environment = {**os.environ, "PYTHONPATH": killer(tmp_path / "killer", shard, chunks)}
    done = subprocess.run([sys.executable, "-m", "axenat.cli", "distil", *words], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    left = list((place / f"{shard}.target.parts").glob("[0-9]*.json"))
    assert len(left) == chunks and not (place / f"{shard}.target").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Distilled in one shard."""
    place = tmp_path_factory.mktemp("whole")
    write_corpus(place)
    teacher(place / "teacher")
    distilled(place, 1)
    return place


@pytest.fixture
def place(whole, tmp_path):
    """The same corpus and teacher, with nothing distilled."""
    folder = tmp_path / "place"
    folder.mkdir()
    shutil.copy(whole / "train.source", folder)
    shutil.copytree(whole / "teacher", folder / "teacher")
    return folder


@pytest.fixture
def decoded(monkeypatch) -> list[int]:
    """How many lines each call of the translator was given."""
    calls: list[int] = []
    translate = Translator.best_translations

    def counting(self, lines, *arguments, **more):
        calls.append(len(lines))
        return translate(self, lines, *arguments, **more)

    monkeypatch.setattr(Translator, "best_translations", counting)
    return calls


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_one_two_and_seven_shards_decode_the_same_lines_together_and_give_the_same_bytes(
    place, decoded, engine
) -> None:
    teacher(place / "teacher", engine=engine)
    one, two, seven = (distilled(place, shards) for shards in (1, 2, 7))
    assert one == two == seven
    assert decoded == 3 * CHUNK_SIZES
    assert one.count(b"\n") == LINES
    assert {read_json(path)["engine"] for path in place.glob("*.json")} == {engine}


def test_more_shards_than_chunks_leave_some_empty_and_change_nothing(whole, place) -> None:
    shards = len(CHUNK_SIZES) + 3
    assert distilled(place, shards) == (whole / "1-of-1.target").read_bytes()
    lines = [read_json(place / f"{number}-of-{shards}.json")["lines"] for number in range(1, shards + 1)]
    assert lines.count(0) == 3 and sum(lines) == LINES


def test_the_records_of_all_shards_say_of_each_line_what_the_record_of_the_whole_says(whole, place) -> None:
    distilled(place, 7)
    one = read_json(whole / "1-of-1.json")
    records = [read_json(place / f"{number}-of-7.json") for number in range(1, 8)]
    for key in ("runaway", "empty"):
        assert [number for record in records for number in record[key]] == one[key]
    for key in ("cut_sources", "lines"):
        assert sum(record[key] for record in records) == one[key]
    for key in ("teacher_sha256", "source_sha256", "engine", "precision", "beam_size", "length_penalty"):
        assert {record[key] for record in records} == {one[key]}


def test_a_record_names_the_teacher_its_value_and_the_lines_that_went_wrong(whole) -> None:
    record = read_json(whole / "1-of-1.json")
    assert (record["engine"], record["precision"]) == ("ctranslate2", "float32")
    assert (record["beam_size"], record["length_penalty"]) == (5, 0.8)
    assert (record["first_line"], record["lines"]) == (1, LINES)
    sources, outputs = read_lines(whole / "train.source"), read_lines(whole / "1-of-1.target")
    translator = Translator(whole / "teacher", distil.device_of("cpu"))
    found = translator.translate_words(sources)
    assert record["runaway"] == [number for number, one in enumerate(found, start=1) if not one.ended]
    assert record["empty"] == [number for number, line in enumerate(outputs, start=1) if not line]
    assert record["cut_sources"] == translator.num_cut > 0
    assert 0 < len(record["runaway"]) < LINES and record["empty"]


def test_a_killed_shard_goes_on_after_its_last_chunk_and_ends_with_the_same_bytes(
    whole, place, tmp_path, decoded
) -> None:
    kill(place, "1-of-1", 4, tmp_path)
    run(distil, **flags(place, "1-of-1"))
    assert decoded == CHUNK_SIZES[4:]
    for name in ("1-of-1.target", "1-of-1.json"):
        assert (place / name).read_bytes() == (whole / name).read_bytes()
    assert not (place / "1-of-1.target.parts").exists()


def _emptied(part) -> None:
    part.write_text("")


def _a_line_less(part) -> None:
    chunk = read_json(part)
    write_json(part, {**chunk, "lines": chunk["lines"][:-1]})


@pytest.mark.parametrize("damage", [_emptied, _a_line_less])
def test_a_damaged_chunk_is_made_again(whole, place, tmp_path, decoded, damage) -> None:
    kill(place, "1-of-1", 3, tmp_path)
    chunks = [path for path in (place / "1-of-1.target.parts").iterdir() if path.name[0].isdigit()]
    damage(sorted(chunks)[0])
    run(distil, **flags(place, "1-of-1"))
    assert len(decoded) == len(CHUNK_SIZES) - 2
    assert (place / "1-of-1.target").read_bytes() == (whole / "1-of-1.target").read_bytes()


def test_text_and_record_need_a_file_each(place) -> None:
    both = {**flags(place, "1-of-1"), "record": place / "1-of-1.target"}
    with pytest.raises(UserError, match=r"1-of-1.target: named for two outputs"):
        run(distil, **both)


def test_a_shard_killed_at_its_last_chunk_only_puts_them_together(whole, place, tmp_path, decoded) -> None:
    kill(place, "1-of-1", len(CHUNK_SIZES), tmp_path)
    run(distil, **flags(place, "1-of-1"))
    assert decoded == []
    assert (place / "1-of-1.target").read_bytes() == (whole / "1-of-1.target").read_bytes()


def test_when_one_shard_is_killed_the_others_are_left_alone(whole, place, tmp_path) -> None:
    for shard in ("1-of-3", "3-of-3"):
        run(distil, **flags(place, shard))
    before = {path: path.stat().st_mtime_ns for path in place.glob("*-of-3.*")}
    kill(place, "2-of-3", 1, tmp_path)
    run(distil, **flags(place, "2-of-3"))
    assert {path: path.stat().st_mtime_ns for path in before} == before
    joined = b"".join((place / f"{number}-of-3.target").read_bytes() for number in (1, 2, 3))
    assert joined == (whole / "1-of-1.target").read_bytes()


def another_teacher(place) -> None:
    made = teacher(place / "other", seed=2)
    shutil.copy(made / "model.safetensors", place / "teacher")


def another_value(place) -> None:
    write_json(place / "teacher" / "tuned.json", {"value": 0.1})


def another_engine(place) -> None:
    teacher(place / "teacher", engine="torch")


def another_source(place) -> None:
    write_lines(place / "train.source", reversed(read_lines(place / "train.source")))


@pytest.mark.parametrize("change", [another_teacher, another_value, another_engine, another_source])
def test_chunks_made_with_anything_else_are_thrown_away(place, tmp_path, decoded, change) -> None:
    kill(place, "1-of-1", 4, tmp_path)
    change(place)
    run(distil, **flags(place, "1-of-1"))
    assert decoded == CHUNK_SIZES
    resumed = (place / "1-of-1.target").read_bytes()
    assert distilled(place, 1) == resumed


def another_beam(place) -> None:
    path = place / "teacher" / "decode.yaml"
    write_yaml(path, {**read_yaml(path), "beam_size": 3})


def other_batches(place) -> None:
    path = place / "teacher" / "decode.yaml"
    write_yaml(path, {**read_yaml(path), "tokens_per_batch": 99})


def other_codes(place) -> None:
    path = place / "teacher" / "codes.source"
    write_lines(path, [*read_lines(path), "x y</w>"])


@pytest.mark.parametrize("change", [another_beam, other_batches, other_codes])
def test_chunks_of_a_teacher_with_other_settings_or_subwords_are_thrown_away(
    place, decoded, monkeypatch, change
) -> None:
    """This process only fails, and leaves its chunks as a killed one does."""
    with monkeypatch.context() as patch:
        patch.setattr(Parts, "join", lambda parts, bounds, out: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(distil, **flags(place, "1-of-1"))
    assert decoded == CHUNK_SIZES
    change(place)
    run(distil, **flags(place, "1-of-1"))
    assert decoded == 2 * CHUNK_SIZES


def test_no_two_processes_distil_the_same_shard(place) -> None:
    lock = place / "1-of-1.target.parts" / LOCK
    with alone(lock), pytest.raises(UserError, match="is held by another process"):
        run(distil, **flags(place, "1-of-1"))


def test_a_student_is_no_teacher(place) -> None:
    tiny.run_folder(place / "student", "axe")
    with pytest.raises(UserError, match="student: a teacher is a left_to_right run, and this one is axe"):
        run(distil, **{**flags(place, "1-of-1"), "model": place / "student"})
    assert not list(place.glob("1-of-1*"))
