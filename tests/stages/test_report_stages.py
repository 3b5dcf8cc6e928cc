"""figures, report and report_so_far on the files of a study that is whole, damaged, unfinished or not begun."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from axenat.catalogue import FIGURE_NAMES, TABLE_NAMES
from axenat.files import read_json, read_text, write_json, write_lines, write_text, write_yaml
from axenat.stages import figures, report, report_so_far, tables
from tests.stages.test_evaluation_stages import RUNS, call, results, summarise_all  # noqa: F401
from tests.support.requests import write_request

ANALYSIS = {
    "split": "test",
    "buckets": [{"low": 1, "high": None, "num_sentences": 30, "bleu": 50.0}],
    "confidence": {"long": {"offsets": [-1, 0, 1], "probability": [0.1, 0.8, 0.1], "num_sentences": 9}},
    "examples": [{"source": "a b", "reference": "c d", "hypothesis": "c c"}],
    "alignments": [],
}


def analysis_of(study: Path, run: str) -> Path:
    """Named by the decoding that the configuration of the run tells."""
    return study / "runs" / run / "test" / f"{'beam5' if run == 'teacher' else 'ell5'}.analysis.json"


@pytest.fixture
def study(results: Path) -> Path:  # noqa: F811
    """Everything that a finished study leaves behind."""
    summarise_all(results)
    for run in RUNS:
        folder = results / "runs" / run
        write_json(analysis_of(results, run), {"run": run, **ANALYSIS})
        shutil.rmtree(folder / "valid")
        write_text(folder / "history.jsonl", '{"kind": "train", "step": 1, "loss": 2.0}\n')
        write_yaml(folder / "decode.yaml", {"beam_size": 5})
        write_json(folder / "provenance.json", {"commit": "0123abc"})
    return results


def request(study: Path, **more: Any) -> Path:
    folders = [study / "runs" / run for run in RUNS]
    scores = [folder / "test" / "d.score.json" for folder in folders]
    records = {"runs": folders, "scores": scores, "choices": [study / "choices" / "axe-raw.json"]}
    return write_request(study / "request.yaml", study="toy", **records, **more)


def draw(study: Path, *names: str, out: str = "figures", **more: Any) -> list[Path]:
    names = names or FIGURE_NAMES
    call(figures, "--request", request(study, names=names, **more), "--out", study / out)
    return [study / out / f"{name}.figure.json" for name in names]


def so_far(study: Path) -> str:
    call(report_so_far, "--request", request(study), "--logs", study / "logs", "--out", study / "so-far")
    return read_text(study / "so-far" / "report.html")


def test_every_figure_is_a_file_with_its_name(study: Path) -> None:
    drawn = {path.name.removesuffix(".figure.json"): read_json(path) for path in draw(study)}
    assert {name for name, drawing in drawn.items() if drawing["panels"]} == set(FIGURE_NAMES) - {
        "target_sides", "alignment"
    }  # fmt: skip
    assert drawn["alignment"]["notes"][0].startswith("No alignment")
    assert all(drawing["name"] == name for name, drawing in drawn.items())
    assert {path.stem for path in (study / "figures").glob("*.svg")} == set(FIGURE_NAMES)


def test_only_the_figures_asked_for_are_drawn(study: Path) -> None:
    draw(study, "training")
    assert {path.name for path in (study / "figures").iterdir()} == {"training.svg", "training.figure.json"}


def test_the_page_shows_the_very_figures_and_tables_and_links_to_them(study: Path) -> None:
    table = {"title": "Lengths", "caption": "By length.", "labels": ["a"], "numeric": [True], "rows": [["77.7"]]}
    write_json(study / "tables" / "lengths.table.json", {**table, "notes": []})
    write_text(study / "tables" / "lengths.tex", "x")
    write_text(study / "notes.md", "| `key` | something. Differs from the paper: of course |")
    write_yaml(study / "data.dvc", {"outs": [{"path": "data", "md5": "77aa.dir"}]})
    records = {"summary": [study / "summary.json"], "tables": [study / "tables" / "lengths.table.json"]}
    records |= {"figures": draw(study), "documents": [study / "notes.md"], "data": study / "data.dvc"}
    asked = request(study, **records, jobs={"train": 4}, note="made up")
    call(report, "--request", asked, "--out", study / "report.html")
    page = read_text(study / "report.html")
    assert "77.7" in page and 'href="tables/lengths.tex"' in page and "tables/lengths.csv" not in page
    assert 'href="figures/training.svg"' in page and "made up" in page
    assert "is 0.00 BLEU above" in page or "BLEU above ce-raw" in page
    assert "of course" in page and "77aa.dir" in page and "4 jobs" in page
    assert 'id="missing"' not in page


def test_a_study_that_is_not_done_tells_what_is_missing_and_what_failed(study: Path, capsys) -> None:
    shutil.rmtree(study / "runs" / "ce-raw")
    (study / "choices" / "axe-raw.json").unlink()
    (study / "runs" / "teacher" / "test" / "d.score.json").unlink()
    write_text(study / "logs" / "train" / "ce-raw.log", "12:00 step 1\naxenat train: no space left\n")
    write_text(study / "logs" / "train" / "teacher.log", "12:00 all is well\n")
    write_text(study / "logs" / "score" / "x.log", "Traceback (most recent call last):\n  File x\nKeyError: 'run'\n")
    page = so_far(study)
    assert capsys.readouterr().out == f"What there is so far, and what is missing: {study}/so-far/report.html\n"
    top = page[: page.index('id="overview"')]
    for told in (
        "ce-raw: no such folder; the run has not begun",
        "axenat train: no space left",
        "KeyError: &#39;run&#39;",
    ):
        assert told in top
    assert (
        "axe-raw.json: no such file" in top and "runs/teacher: no test/d.score.json" in top and "all is well" not in top
    )
    assert "cannot be told</span>, nothing is known of ce-raw" in page
    made = {path.stem for path in (study / "so-far" / "tables").glob("*.md")}
    assert made == set(TABLE_NAMES)
    assert {path.stem for path in (study / "so-far" / "figures").glob("*.svg")} == set(FIGURE_NAMES)


DAMAGED = (
    "runs/ce-raw/config.yaml", "runs/ce-raw/decode.yaml", "runs/ce-raw/history.jsonl", "runs/ce-raw/tuned.json",
    "runs/ce-raw/provenance.json", "runs/ce-raw/test/d.score.json", "runs/ce-raw/test/ell5.analysis.json",
    "choices/axe-raw.json",
)  # fmt: skip


@pytest.mark.parametrize("text", ['{"run": "ce-r', "[1, 2]", "{}"], ids=["half", "list", "no keys"])
def test_damaged_files_of_a_run_are_told_and_the_rest_is_shown(study: Path, text: str) -> None:
    for name in DAMAGED:
        write_text(study / name, text)
    page = so_far(study)
    assert "axe-raw-1" in page and "No BLEU by length" in page
    for name in DAMAGED:
        left_out = name.endswith(("history.jsonl", "decode.yaml")) or (text == "{}" and "provenance" in name)
        assert left_out or f"{name}: " in page or (text == "{}" and "config.yaml" in name), name


def test_only_the_parts_of_a_run_that_the_request_names_are_read(study: Path) -> None:
    (whole,) = map(read_json, draw(study, "length_multiplier", parts=["config", "tuned"]))
    assert whole["panels"] and not whole["notes"]
    (without,) = map(read_json, draw(study, "length_multiplier", parts=["config"]))
    assert not without["panels"] and without["notes"][0] == "No tuning curves: no run has a tuned.json."


def test_lengths_are_those_of_the_present_decoding_whatever_lies_next_to_it(study: Path) -> None:
    def lengths() -> dict[str, Any]:
        call(tables, "--request", request(study, names=["lengths"]), "--out", study / "tables")
        table: dict[str, Any] = read_json(study / "tables" / "lengths.table.json")
        return table

    before = lengths()
    assert before["rows"] and "50.00" in str(before["rows"])
    earlier = {**ANALYSIS, "buckets": [{"low": 1, "high": None, "num_sentences": 30, "bleu": 7.0}]}
    for run in RUNS:
        write_json(study / "runs" / run / "test" / "a.analysis.json", {"run": run, **earlier})
    assert lengths() == before


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("lengths.table.json", {"title": "t"}, "lengths.table.json.caption is missing"),
        ("lengths.table.json", {"rows": [["1", "2"]]}, "each row must have 1 cells, one for each of labels"),
        ("none-such.table.json", {}, "its name must be one of axe_against_ce, systems"),
        ("training.figure.json", {"name": "lengths"}, "caption is missing"),
        ("training.figure.json", {"name": "loss", "caption": "c"}, "name must be one of axe_against_ce, target_sides"),
    ],
)
def test_a_damaged_table_or_figure_is_named_on_the_page(
    study: Path, name: str, values: dict[str, Any], sentence: str
) -> None:
    whole = {"title": "t", "caption": "c", "labels": ["a"], "numeric": [True], "rows": [], "notes": []}
    write_json(study / name, {**whole, **values} if name.endswith("table.json") and "title" not in values else values)
    kind = "tables" if "table" in name else "figures"
    call(report, "--request", request(study, **{kind: [study / name]}), "--out", study / "report.html")
    page = read_text(study / "report.html")
    top = page[: page.index('id="overview"')]
    assert name in top and sentence in top


def test_half_a_line_at_the_end_of_a_history_is_left_out(study: Path) -> None:
    path = study / "runs" / "ce-raw" / "history.jsonl"
    good = "".join(f'{{"kind": "train", "step": {step}, "loss": {9 - step}.0}}\n' for step in (1, 2, 3))
    write_text(path, good)
    draw(study, "training", out="whole")
    write_text(path, good + '{"kind": "tra')
    draw(study, "training", out="half")
    assert read_text(study / "whole" / "training.svg") == read_text(study / "half" / "training.svg")


def test_a_study_of_which_nothing_is_there_is_a_page_too(tmp_path: Path) -> None:
    page = so_far(tmp_path)
    for run in RUNS:
        assert f"runs/{run}: no such folder" in page
    assert "No scores" in page and "No training curves" in page


def test_an_empty_test_set_is_told_by_the_stage_that_refused_it(study: Path) -> None:
    for run in RUNS:
        (study / "runs" / run / "test" / "d.score.json").unlink()
        analysis_of(study, run).unlink()
        write_lines(study / "runs" / run / "test" / "d.txt", [])
    write_text(study / "logs" / "score" / "ce-raw-test-d.log", "axenat score: the test set is empty\n")
    page = so_far(study)
    assert "axenat score: the test set is empty" in page
    assert "No scores" in page and 'class="answer cannot-be-told"' in page
    assert read_json(study / "choices" / "axe-raw.json")["chosen"] in page  # what valid told is still told
