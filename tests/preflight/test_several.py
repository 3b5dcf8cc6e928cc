"""Where there are several of something, all of them count: accounts of one job, workflows, measurements, addresses."""

import json
from pathlib import Path

import pytest
import requests

from axenat import layout
from axenat.corpus_config import SPLITS
from axenat.files import write_json, write_lines, write_text, write_yaml
from axenat.preflight import accounting, store
from axenat.preflight.duration import Training, check_duration, estimate, seconds_of
from axenat.preflight.origins import check_origins
from axenat.preflight.usage import Used, as_table, rows_of
from axenat.resources import Ask
from axenat.site import Site
from axenat.study import parse_study
from axenat.tracking import EXPERIMENT
from tests.studies import study

STUDY = parse_study(study(recipes__small__train={"steps": 100}))


def used(seconds: float, *, whole: bool = False) -> Used:
    return Used(rule="score", seconds=seconds, cpu_seconds=seconds, mem_mb=100.0, whole=whole)


@pytest.mark.parametrize("of_slurm", [100.0, 900.0])
def test_the_longest_job_is_that_of_slurm_and_of_the_benchmarks_together(of_slurm) -> None:
    (row,) = rows_of({"score": Ask()}, [used(1000 - of_slurm), used(of_slurm, whole=True)], Site())
    assert (row.seconds, row.jobs, row.hours) == (900, 1, pytest.approx(of_slurm / 3600))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(119, "119 s"), (120, "2.0 min"), (5400, "90.0 min"), (7199, "120.0 min"), (7200, "2.0 h")],
)
def test_a_time_is_shown_in_the_largest_unit_that_it_has_two_of(seconds, shown) -> None:
    assert shown in as_table(rows_of({"score": Ask()}, [used(seconds)], Site()))[1]


def test_slurm_is_asked_for_all_workflows_since_the_first_of_them(monkeypatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(accounting, "slurm_lines", lambda *words: asked.extend(words) or [])
    accounting.jobs_in_slurm({"b": "2026-11-18", "a": "2026-10-02", "c": "2026-12-01"}, {}, ())
    assert {"--name=b,a,c", "--starttime=2026-10-02"} <= set(asked)


def begin(results: Path, run: str, device: str, *seconds: float) -> Path:
    """Lines of ten steps each."""
    folder = results / "runs" / run
    write_yaml(folder / "config.yaml", STUDY.section("runs", run, "config"))
    for side in ("source", "target"):
        write_lines(results / "corpora/demo/subwords" / f"vocab.{side}", map(str, range(500)))
    lines = [json.dumps({"step": 10 * i, "seconds": value}) for i, value in enumerate(seconds, start=1)]
    write_text(folder / "checkpoints/speed.jsonl", "".join(f"{line}\n" for line in lines))
    write_json(folder / "best.json", {})
    write_json(folder / "provenance.json", {"device": device})
    return folder


def test_one_slow_stretch_of_a_training_does_not_count(tmp_path) -> None:
    folder = begin(tmp_path, "ce", "cpu", 20.0, 18.0, 900.0)
    assert seconds_of(folder, 100, tmp_path / "logs") == pytest.approx(200.0)


def test_of_trainings_that_are_alike_the_one_in_the_middle_counts() -> None:
    run = STUDY.runs["ce"]
    work, step = float(run.train.steps * run.train.tokens_per_step * 1000), float(run.train.tokens_per_step * 1000)
    earlier = [
        Training(objective="masked", work=work, work_of_step=step, seconds=seconds, device="cpu")
        for seconds in (10.0, 20.0, 900.0)
    ]
    assert estimate(run, 1000, earlier)[0] == pytest.approx(20.0)


@pytest.mark.parametrize(("second", "unit"), [("cpu", "CPU-hours"), ("NVIDIA Tesla", "GPU-hours")])
def test_hours_are_those_of_processors_if_no_training_had_a_gpu(tmp_path, second, unit) -> None:
    begin(tmp_path, "ce", "cpu", 20.0)
    begin(tmp_path, "teacher", second, 20.0)
    assert unit in check_duration(STUDY, tmp_path, tmp_path / "logs").words


@pytest.mark.parametrize("given", [{"USERNAME": "me", "PASSWORD": "word"}, {"TOKEN": "abc"}, {"USERNAME": "me"}, {}])
def test_a_server_is_asked_for_our_experiment_with_the_credentials_that_are_whole(monkeypatch, given) -> None:
    for key in ("USERNAME", "PASSWORD", "TOKEN"):
        monkeypatch.delenv(f"MLFLOW_TRACKING_{key}", raising=False)
    for key, value in given.items():
        monkeypatch.setenv(f"MLFLOW_TRACKING_{key}", value)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    sent: list[requests.PreparedRequest] = []

    def send(self, request, **settings):
        sent.append(request)
        raise requests.ConnectionError

    monkeypatch.setattr(requests.Session, "send", send)
    store.check_store(on_cluster=False)
    (request,) = sent
    assert request.url == f"http://127.0.0.1:9/api/2.0/mlflow/experiments/get-by-name?experiment_name={EXPERIMENT}"
    expected = "Basic bWU6d29yZA==" if "PASSWORD" in given else "Bearer abc" if "TOKEN" in given else None
    assert request.headers.get("Authorization") == expected


def test_jobs_on_several_machines_write_to_no_database_that_is_a_file_there_or_not(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/new.db")
    assert [store.check_store(on_cluster=where).level for where in (False, True)] == ["ok", "warning"]


def published(*addresses: str):
    """A study of one archive of two bytes."""
    both = {"en": "all:a.en", "de": "all:a.de"}
    recipe = {
        "title": "small", "languages": ["en", "de"], "train": ["part"], "valid": "dev", "test": "dev",
        "archives": {"all": {"addresses": list(addresses), "bytes": 2, "md5": "0" * 32}},
        "parts": {"part": {"files": both}}, "sets": {"dev": {"files": {"en-de": both}, "format": "text"}},
    }  # fmt: skip
    write_yaml("recipe.yaml", recipe)
    own = {"source_language": "en", "target_language": "de", "recipe": "recipe.yaml"}
    return parse_study(study(corpora__own=own))


def words_about(known, corpus: str = "own") -> str:
    return {finding.about: finding for finding in check_origins(known)}[f"corpus {corpus}"].words


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AXENAT_MIRROR", raising=False)
    return tmp_path


def test_of_several_addresses_that_refuse_the_first_says_why(here) -> None:
    words = words_about(published("http://127.0.0.1:9/x/all.tgz", "http://127.0.0.2:9/x/all.tgz"))
    assert "(http://127.0.0.1:9/x/all.tgz: " in words


def test_an_archive_that_is_there_with_another_size_is_told(here) -> None:
    known = published("http://127.0.0.1:9/x/all.tgz")
    write_text(Path(layout.ARCHIVES) / "127.0.0.1:9/x/all.tgz", "abc")
    write_text(Path(layout.ARCHIVES) / "127.0.0.1/x/all.tgz", "abc")
    assert "has 3 bytes instead of 2" in words_about(known)


def test_raw_text_is_there_when_all_splits_are(here) -> None:
    known = parse_study(study())
    for split in SPLITS:
        assert words_about(known).startswith("6 of 6 files are missing")
        for path in layout.raw_files(known, "own", split):
            write_text(path, "")
    assert words_about(known) == "raw text is in data/own"
