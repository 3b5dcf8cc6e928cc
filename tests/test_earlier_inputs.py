"""Notes of results that were made from plain text are corrected, if that text is the one whose words are read now."""

import json
from pathlib import Path
from typing import Any

import pytest

from axenat.earlier_inputs import accept_earlier_inputs
from axenat.files import read_json, sha256_of, write_text
from axenat.notes import note_of, write_note
from axenat.study import parse_study
from tests.studies import study

CLEAN = {f"results/corpora/own/clean/{split}.{side}" for split in ("valid", "test") for side in ("source", "target")}
TEXT = {f"data/own/{split}.{end}" for split in ("valid", "test") for end in ("en", "de")}
SOURCE, TARGET, WORDS_OF_SOURCE, WORDS_OF_TARGET = (
    "data/own/test.en",
    "data/own/test.de",
    "results/corpora/own/clean/test.source",
    "results/corpora/own/clean/test.target",
)
MODEL, RUN = "results/runs/ce/model.safetensors", "results/runs/ce/test/ell5"


def sum_of(path: str) -> str:
    return f"sha256:{sha256_of(path)}"


def noted(path: str, *inputs: str) -> None:
    """As Snakemake notes a file and what it was made from."""
    sums = {name: sum_of(name) for name in inputs}
    write_note(path, {"input": sorted(inputs), "input_checksums": sums, "params": ["1"], "endtime": 1.0})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Text of a corpus with one reference, its words, and results of one run that were made from the plain text."""
    monkeypatch.chdir(tmp_path)
    Path(".snakemake/metadata").mkdir(parents=True)
    for path in (*TEXT, *CLEAN, MODEL, f"{RUN}.txt"):
        write_text(path, path)
    for split in ("valid", "test"):
        for side in ("source", "target"):
            noted(f"results/corpora/own/clean/{split}.{side}", f"data/own/{split}.en", f"data/own/{split}.de")
    noted("results/runs/ce/tuned.json", MODEL, "data/own/valid.en", "data/own/valid.de")
    for ending in ("txt", "tok.txt", "bpe.txt", "engine.json"):
        noted(f"{RUN}.{ending}", MODEL, SOURCE)
    for ending in ("score.json", "metrics.json"):
        noted(f"{RUN}.{ending}", f"{RUN}.txt", TARGET)
    noted(f"{RUN}.analysis.json", MODEL, f"{RUN}.txt", SOURCE, TARGET)
    return tmp_path


def accept(**changes: Any) -> None:
    accept_earlier_inputs(parse_study(study(runs__ce__corpus="own", runs__ce__target_side="raw", **changes)))


def test_a_result_reads_the_words_of_the_text_that_it_was_made_from() -> None:
    accept()
    for ending in ("txt", "tok.txt", "bpe.txt", "engine.json"):
        assert note_of(f"{RUN}.{ending}")["input"] == [WORDS_OF_SOURCE, MODEL]
    for ending in ("score.json", "metrics.json"):
        assert note_of(f"{RUN}.{ending}")["input"] == [TARGET, WORDS_OF_TARGET, f"{RUN}.txt"]
    valid = ["data/own/valid.de", *(f"results/corpora/own/clean/valid.{side}" for side in ("source", "target"))]
    assert note_of("results/runs/ce/tuned.json")["input"] == [*valid, MODEL]
    both = [TARGET, SOURCE, WORDS_OF_SOURCE, WORDS_OF_TARGET]
    assert note_of(f"{RUN}.analysis.json")["input"] == [*both, MODEL, f"{RUN}.txt"]


def test_checksums_are_of_what_is_read_now_and_all_else_stays() -> None:
    accept()
    note = note_of(f"{RUN}.txt")
    assert note["input_checksums"] == {name: sum_of(name) for name in (MODEL, WORDS_OF_SOURCE)}
    assert (note["params"], note["endtime"]) == (["1"], 1.0)


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(".snakemake/metadata").iterdir()}


def test_a_second_time_changes_nothing() -> None:
    accept()
    before = contents()
    accept()
    assert contents() == before


def made_from_other_text(path: str) -> None:
    note = note_of(path)
    write_note(path, {**note, "input_checksums": {**note["input_checksums"], SOURCE: f"sha256:{'0' * 64}"}})


@pytest.mark.parametrize("path", [f"{RUN}.txt", WORDS_OF_SOURCE])
def test_a_result_of_another_text_is_left_to_snakemake(path) -> None:
    """Either the result or the words were made from another one."""
    made_from_other_text(path)
    before = note_of(f"{RUN}.txt")
    accept()
    assert note_of(f"{RUN}.txt") == before
    assert (note_of(f"{RUN}.tok.txt")["input"] == [WORDS_OF_SOURCE, MODEL]) == (path != WORDS_OF_SOURCE)


def test_a_result_of_anything_else_is_left_to_snakemake() -> None:
    """Translations of something that is not the text of the corpus, although its checksum is known."""
    note = note_of(f"{RUN}.txt")
    write_note(f"{RUN}.txt", {**note, "input": [MODEL, "other.en"]})
    before = note_of(f"{RUN}.txt")
    accept()
    assert note_of(f"{RUN}.txt") == before


@pytest.mark.parametrize("content", ["{half", "[]", "{}", '{"input": null, "input_checksums": null}'])
def test_a_note_that_tells_nothing_is_left_alone(content) -> None:
    for path in Path(".snakemake/metadata").iterdir():
        path.write_text(content)
    before = contents()
    accept()
    assert contents() == before


def test_nothing_is_claimed_of_words_that_are_gone_or_of_unknown_origin() -> None:
    Path(WORDS_OF_SOURCE).unlink()
    write_note(WORDS_OF_TARGET, {})
    before = contents()
    accept()
    after = contents()
    changed = [name for name in before if before[name] != after[name]]
    assert [note_of("results/runs/ce/tuned.json")["input"][1]] == ["results/corpora/own/clean/valid.source"]
    assert len(changed) == 1, "valid is whole"


def test_where_snakemake_has_noted_nothing_there_is_nothing_to_do(tmp_path, monkeypatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    accept()
    assert list(Path().iterdir()) == []


def test_scores_with_several_references_wait_for_the_file_of_their_words() -> None:
    before = note_of(f"{RUN}.score.json")
    accept(corpora__own__references=2)
    assert note_of(f"{RUN}.score.json") == before


def test_a_note_is_written_where_it_is_read(tmp_path) -> None:
    long = "/".join(["results", *("x" * 100 for _ in range(5)), "file"])
    write_note(long, {"input": ["ä"]})
    assert note_of(long) == {"input": ["ä"]}
    assert all(read_json(path) for path in Path(".snakemake/metadata").rglob("*") if path.is_file())
    assert json.loads(json.dumps(note_of(long)))
