"""A file is known by its time and by what it was made from; without a note nothing is claimed."""

import os
from pathlib import Path

import pytest

from axenat.files import write_text
from axenat.notes import NOTES, is_of_what_is_there, note_of, was_written_since
from tests.noted import note


@pytest.fixture(autouse=True)
def line(tmp_path, monkeypatch) -> None:
    """Three files, each made from the one before, and one that lies elsewhere."""
    monkeypatch.chdir(tmp_path)
    for name in ("run/best", "run/model", "run/score", "text"):
        write_text(name, name)
    note("run/model", "run/best", "text")
    note("run/score", "run/model")


def score_is_present() -> bool:
    return is_of_what_is_there("run/score", Path("run"))


def test_what_nobody_touched_is_of_what_is_there() -> None:
    assert score_is_present() and not was_written_since("run/score")
    assert is_of_what_is_there(Path("run/score").resolve(), Path("run").resolve())


@pytest.mark.parametrize("name", ["run/model", "run/best"])
def test_what_was_made_from_other_content_is_not_however_far_back(name) -> None:
    write_text(name, "other")
    assert not score_is_present()
    Path(name).unlink()
    assert score_is_present(), "nothing is claimed of what is gone"


def test_what_lies_elsewhere_does_not_count() -> None:
    write_text("text", "other")
    assert score_is_present()


def test_the_same_content_at_another_time_is_no_news() -> None:
    os.utime("run/model", (1, 1))
    assert score_is_present() and was_written_since("run/model")


def test_a_link_to_the_content_is_followed_and_counts_where_it_lies() -> None:
    """As DVC links files to its cache."""
    write_text("cache", "run/model")
    Path("run/model").unlink()
    Path("run/model").symlink_to("../cache")
    assert score_is_present()
    write_text("cache", "other")
    assert not score_is_present()


@pytest.mark.parametrize(("before", "after"), [("sha256:", ""), ("sha256:", "md5:")], ids=["no-kind", "another-kind"])
def test_sums_of_other_versions_of_snakemake_are_read_or_left_alone(before, after) -> None:
    for path in NOTES.iterdir():
        path.write_text(path.read_text().replace(before, after))
    assert score_is_present()


def test_without_a_note_nothing_is_claimed() -> None:
    assert note_of("text") == {} and not was_written_since("text") and is_of_what_is_there("text", Path("run"))
    for path in NOTES.iterdir():
        path.write_text("{half")
    assert score_is_present() and not was_written_since("run/score")
