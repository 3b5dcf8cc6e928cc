"""A request names all that its job reads and no more, and changes with what it shows and with nothing else."""

from pathlib import Path
from typing import Any

import pytest

from axenat.catalogue import TABLE_NAMES
from axenat.files import UserError, read_yaml, write_yaml
from axenat.records import build
from axenat.study import Study, parse_study
from axenat.study_requests import PARTS, REQUESTS, StudyRequest, files_of, read_request, request_of, requests_of
from tests.studies import study

CONFIG = Path(__file__).parents[1] / "config"
FILES = {"config": "config.yaml", "histories": "history.jsonl", "tuned": "tuned.json"}
RECORDS = ("scores", "further", "choices", "origins", "raw", "counts", "speed", "summary", "tables", "figures")


def asked(parsed: Study, name: str) -> dict[str, Any]:
    return request_of(parsed, name, "config/paper.yaml", ["config/README.md"])


@pytest.mark.parametrize("config", ["config", "tiny", "wmt14-en-de", "multi30k"])
def test_every_request_of_a_study_can_be_read(config: str, tmp_path: Path) -> None:
    parsed = parse_study(read_yaml(CONFIG / f"{config}.yaml"))
    for name in REQUESTS:
        write_yaml(tmp_path / "request.yaml", asked(parsed, name))
        read = read_request(tmp_path / "request.yaml")
        assert read == build(StudyRequest, asked(parsed, name), name) and read.study == parsed.name
    assert set(requests_of(parsed)) <= set(REQUESTS) and requests_of(parsed)[-1] == "report"


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_names_the_files_that_its_job_waits_for(name: str) -> None:
    parsed = parse_study(study(recipes__small__decode={"also": ["ell1"]}))
    read = build(StudyRequest, asked(parsed, name), name)
    named = {path for kind in RECORDS for path in getattr(read, kind)}
    waited = set(files_of(parsed, name))
    in_folders = {path for path in waited - named if path.rpartition("/")[0].removesuffix("/test") in read.runs}
    assert named | in_folders == waited, "and no job waits for what its request does not name"
    if read.runs and name.startswith(("tables-", "figures-")):
        whole = {f"{run}/{FILES[part]}" for run in read.runs for part in read.parts if part in FILES}
        assert whole <= in_folders and any("analysis" in path for path in waited) == ("analyses" in read.parts)


def changed(**keys: Any) -> set[str]:
    """Requests that are not the same in another study."""
    before, after = parse_study(study()), parse_study(study(**keys))
    return {name for name in REQUESTS if asked(before, name) != asked(after, name)}


def test_a_request_changes_with_what_it_shows_and_with_nothing_else() -> None:
    pages = {"report", "report_so_far"}
    assert changed(note="other words") == pages
    assert changed(published="wmt17-en-zh") == {*(f"tables-{name}" for name in TABLE_NAMES), "report_so_far"}
    assert changed(tables=["systems"]) == pages
    assert changed(resources={"size": "base"}) == set()
    assert changed(study="another") == set(REQUESTS)
    more = changed(runs__odd={"recipe": "small", "objective": {"name": "axe", "observe": "none", "score": "all"}})
    shown = ("training_objectives", "speed", "decodings", "conventions", "seeds")
    assert more == {*(f"tables-{name}" for name in shown), "figures-training", *pages}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "study is missing; expected the keys study"),
        ({"study": "s", "colour": "red"}, "colour is not a known key; allowed are study, note, names, runs"),
        ({"study": "s", "runs": "a"}, "runs must be a list, got 'a'"),
        ({"study": "s", "names": ["none-such"]}, "each of names must be one of axe_against_ce, .*got 'none-such'"),
        ({"study": "s", "parts": ["model"]}, f"each of parts must be one of {', '.join(PARTS)}, got 'model'"),
        ({"study": "s", "published": "wmt15"}, "published must be one of wmt14-en-de, .*got 'wmt15'"),
        ({"study": "s", "paper_columns": {"a": "b"}}, "paper_columns.a must be one of wmt14-en-de, .*got 'b'"),
    ],
)
def test_a_wrong_request_is_refused_in_one_sentence(values: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "request.yaml"
    write_yaml(path, values)
    with pytest.raises(UserError, match=f"request.yaml.*{sentence}"):
        read_request(path)
