"""Every path of a study is spelled once, and as the documents say."""

import re
from pathlib import Path

import pytest

from axenat import layout
from axenat.files import write_text, write_yaml
from axenat.study import parse_study
from tests.studies import study

STUDY = parse_study(study())


def test_a_corpus_has_all_its_raw_files_and_no_other() -> None:
    assert layout.raw_files(STUDY, "demo", "train") == [f"data/demo/train.{end}" for end in ("json", "en", "de")]
    for split in ("valid", "test"):
        ends = ("json", "en", "de", "ref1.de", "ref2.de", "accept")
        assert layout.raw_files(STUDY, "demo", split) == [f"data/demo/{split}.{end}" for end in ends]
        assert layout.raw_files(STUDY, "own", split) == [f"data/own/{split}.{end}" for end in ends[:3]]
        assert layout.own_files(STUDY, "own", split) == [f"texts/{split}.en", f"texts/{split}.de"]
    assert layout.own_files(STUDY, "demo", "train") == layout.archives(STUDY, "demo", "train") == []


def test_the_first_reference_is_the_target_text() -> None:
    assert layout.references(STUDY, "demo", "test")[0] == layout.raw_text(STUDY, "demo", "test", "target")
    assert len(layout.references(STUDY, "demo", "test")) == 3


def test_only_the_target_side_of_train_is_ever_distilled() -> None:
    distilled = [
        (split, side)
        for split in ("train", "valid", "test")
        for side in ("source", "target")
        if "distilled" in layout.words(STUDY, "demo", "distilled", split, side)
    ]
    assert distilled == [("train", "target")]
    assert layout.ids(STUDY, "ce", "train") == "results/corpora/demo/distilled/train.safetensors"
    assert layout.ids(STUDY, "ce", "valid") == layout.ids(STUDY, "teacher", "valid")


def test_a_training_begins_with_the_weights_of_the_run_that_it_names_or_with_none() -> None:
    warm = parse_study(study(runs__ce__start_from="teacher"))
    assert layout.start(warm, "ce") == ["results/runs/teacher/model.safetensors"]
    assert layout.start(STUDY, "ce") == layout.start(warm, "teacher") == []


def test_shards_are_counted_from_one_and_come_in_order() -> None:
    for ending in ("target", "json"):
        assert layout.shards(STUDY, "demo", ending) == [
            f"results/corpora/demo/distilled/shards/{part}.{ending}" for part in ("1-of-2", "2-of-2")
        ]


def test_a_teacher_is_a_tuned_model() -> None:
    assert layout.teacher(STUDY, "demo") == [*layout.model("teacher"), "results/runs/teacher/tuned.json"]


@pytest.mark.parametrize(("run", "decode"), [("teacher", "beam5"), ("ce", "ell5")])
def test_outputs_are_named_by_run_split_and_decoding(run, decode) -> None:
    assert layout.output(STUDY, run, "test", "score.json") == f"results/runs/{run}/test/{decode}.score.json"


def test_decodings_that_are_reported_beside_a_runs_own_lie_beside_it() -> None:
    further = parse_study(study(recipes__small__decode={"also": ["ell1", "beam1", "ell5-t4"]}))
    assert layout.further_outputs(STUDY, "ce", "test", "txt") == ["results/runs/ce/test/ell1.txt"]
    assert layout.further_outputs(STUDY, "teacher", "test", "txt") == []
    assert layout.further_outputs(further, "teacher", "valid", "txt") == ["results/runs/teacher/valid/beam1.txt"]
    assert [path.split("/")[-1] for path in layout.further_outputs(further, "ce", "test", "x")] == [
        "ell1.x",
        "ell5-t4.x",
    ]


def test_a_run_shows_only_the_files_of_its_own_decoding_whatever_lies_beside_them(tmp_path) -> None:
    files = [tmp_path / split / f"{name}.score.json" for split in ("test", "valid") for name in ("ell1", "ell5")]
    for path in files:
        write_text(path, "{}")
    assert layout.outputs_in(tmp_path, "score.json") == files
    write_yaml(tmp_path / "config.yaml", STUDY.section("runs", "ce", "config"))
    write_yaml(tmp_path / "decode.yaml", STUDY.section("runs", "ce", "decode"))
    assert layout.outputs_in(tmp_path, "score.json") == [files[1], files[3]]


def test_there_is_one_choice_for_each_grid() -> None:
    assert layout.choices(STUDY) == ["results/choices/axe.json"]


def test_each_form_of_a_table_and_a_figure_is_a_file_of_its_own_and_times_lie_apart() -> None:
    tables = [path for ending in layout.TABLE_FORMS for path in layout.tables(STUDY, ending)]
    figures = [path for ending in ("svg", "figure.json") for path in layout.figures(ending)]
    written = {*tables, *figures, layout.SPEED, layout.MACHINE}
    assert len(written) == len(tables) + len(figures) + 2
    timed = {path for path in tables if path.startswith("results/speed/")}
    assert timed == {f"results/speed/speed.{ending}" for ending in ("md", "csv", "tex", "table.json")}


def test_all_paths_are_relative_and_plain() -> None:
    paths = layout.raw_files(STUDY, "demo", "test") + layout.subwords("demo") + layout.tuned_model("ce")
    paths += [*layout.tables(STUDY, "md"), *layout.figures("svg"), layout.request_file("report")]
    assert all(re.fullmatch(r"(data|results)/[\w./-]+", path) and ".." not in path for path in paths)


@pytest.mark.parametrize("run", ["ce", "teacher"])
@pytest.mark.parametrize(
    "decode",
    [{"num_length_candidates": 4}, {"iterations": 3}, {"num_length_candidates": 2, "iterations": 7}, {"beam_size": 3}],
)
def test_the_folder_of_a_run_names_its_decoding_as_the_study_does(tmp_path, run, decode) -> None:
    """With each size that a name can hold; a file of any other name is another decoding's."""
    known = parse_study(study(recipes__small__decode=decode))
    name = Path(layout.output(known, run, "test", "score.json")).name
    for other in (
        "ell5",
        "ell4",
        "ell4-t3",
        "ell5-t3",
        "ell2",
        "ell2-t7",
        "beam5",
        "beam3",
        name.removesuffix(".score.json"),
    ):
        write_text(tmp_path / "test" / f"{other}.score.json", "{}")
    write_yaml(tmp_path / "config.yaml", known.section("runs", run, "config"))
    write_yaml(tmp_path / "decode.yaml", known.section("runs", run, "decode"))
    assert layout.outputs_in(tmp_path, "score.json") == [tmp_path / "test" / name]
