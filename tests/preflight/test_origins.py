"""Raw text is there, or can be had from a folder, a mirror or the web; else the study cannot run."""

from pathlib import Path

import pytest

from axenat import layout
from axenat.corpus_config import SPLITS
from axenat.files import write_lines, write_text, write_yaml
from axenat.preflight.origins import check_origins
from axenat.study import parse_study
from tests.studies import study
from tests.web import serving


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AXENAT_MIRROR", raising=False)
    return tmp_path


def found(known, corpus: str = "own"):
    return {finding.about: finding for finding in check_origins(known)}[f"corpus {corpus}"]


def test_a_grammar_needs_nothing_and_a_folder_all_its_files(here) -> None:
    known = parse_study(study())
    assert found(known, "demo").level == "ok"
    assert found(known).words == "6 of 6 files are missing, such as texts/train.en"
    for split in SPLITS:
        for language in ("en", "de"):
            write_lines(here / f"texts/{split}.{language}", ["a"])
    assert (found(known).level, found(known).words) == ("ok", "all 6 files are in texts")


def test_what_is_downloaded_needs_no_origin(here) -> None:
    known = parse_study(study())
    for path in (path for split in SPLITS for path in layout.raw_files(known, "own", split)):
        write_text(here / path, "")
    assert found(known).words == "raw text is in data/own"


@pytest.fixture
def published(here):
    """A study of one archive of two bytes, at an address that a test serves."""

    def make(origin: str):
        both = {"en": "all:a.en", "de": "all:a.de"}
        recipe = {
            "title": "small", "languages": ["en", "de"], "train": ["part"], "valid": "dev", "test": "dev",
            "archives": {"all": {"addresses": [f"{origin}/x/all.tgz"], "bytes": 2, "md5": "0" * 32}},
            "parts": {"part": {"files": both}}, "sets": {"dev": {"files": {"en-de": both}, "format": "text"}},
        }  # fmt: skip
        write_yaml(here / "recipe.yaml", recipe)
        corpus = {"source_language": "en", "target_language": "de", "recipe": "recipe.yaml"}
        return parse_study(study(corpora__own=corpus))

    return make


def test_an_archive_is_asked_for_without_being_fetched(here, published) -> None:
    write_text(here / "web/x/all.tgz", "ab")
    with serving(here / "web") as web:
        known = published(web.origin)
        assert found(known).words == "1 of 1 archives to fetch, 2 B, and all can be had"
        assert not (here / layout.ARCHIVES).exists() and web.sent <= 2
        (here / "web/x/all.tgz").unlink()
        assert found(known).level == "problem" and "404 Not Found" in found(known).words


def test_the_password_of_a_mirror_is_not_shown(published, monkeypatch) -> None:
    monkeypatch.setenv("AXENAT_MIRROR", "http://me:secret@127.0.0.1:9")
    told = found(published("http://127.0.0.2:9")).words
    assert "127.0.0.1:9" in told and "secret" not in told


def test_a_mirror_does_where_the_web_does_not(here, published, monkeypatch) -> None:
    known = published("http://127.0.0.1:9")
    assert found(known).level == "problem" and "connection refused" in found(known).words
    monkeypatch.setenv("AXENAT_MIRROR", str(here / "mirror"))
    assert "is neither a folder that exists nor an address" in found(known).words
    write_text(here / "mirror/127.0.0.1/x/all.tgz", "abc")
    assert "has 3 bytes instead of 2" in found(known).words
    write_text(here / "mirror/127.0.0.1/x/all.tgz", "ab")
    assert found(known).level == "ok"
    monkeypatch.delenv("AXENAT_MIRROR")
    write_text(here / layout.ARCHIVES / "127.0.0.1/x/all.tgz", "ab")
    assert found(known).words == f"all 1 archives are in {layout.ARCHIVES}"
