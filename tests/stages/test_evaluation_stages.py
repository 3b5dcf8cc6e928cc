"""score, choose, summarise and tables, one after the other on files, as the pipeline calls them."""

import argparse
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from axenat.catalogue import TABLE_NAMES
from axenat.evaluate.comparisons import mark_chosen, pairs_to_compare
from axenat.files import UserError, read_json, read_lines, read_yaml, write_json, write_lines, write_yaml
from axenat.stages import choose, score, summarise, tables
from tests.support.requests import write_request

REFERENCE = [f"Der Mann Nummer {number} kauft heute ein rotes Auto." for number in range(30)]
OTHER = [line.replace("heute ein rotes Auto", "ein rotes Auto heute") for line in REFERENCE]
STUTTER = [line.replace("kauft heute", "kauft kauft") if i % 2 else line for i, line in enumerate(REFERENCE)]
RUNS: dict[str, tuple[str, float | None, list[str]]] = {
    "teacher": ("left_to_right", None, OTHER),
    "ce-raw": ("masked", None, STUTTER),
    "axe-raw-1": ("axe", 1.0, REFERENCE),
    "axe-raw-2": ("axe", 2.0, REFERENCE),
}

FURTHER = ("ce-raw", "axe-raw-1")
DECODES = ("d", "ell1")  # the run's own, which may have any name, and a further one


def call(stage: ModuleType, *words: object) -> None:
    parser = argparse.ArgumentParser()
    stage.add_arguments(parser)
    stage.main(parser.parse_args([str(word) for word in words]))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write_lines(tmp_path / "ref0", REFERENCE)
    write_lines(tmp_path / "ref1", OTHER)
    write_yaml(tmp_path / "text.yaml", {"source_language": "en", "target_language": "de"})
    write_lines(tmp_path / "accept", [line.replace(".", r" \.") for line in REFERENCE])
    for run, (objective, delta, lines) in RUNS.items():
        folder = tmp_path / "runs" / run
        settings: dict[str, Any] = {"name": objective}
        if delta:
            settings["skip_target_penalty"] = delta
        write_yaml(
            folder / "config.yaml",
            {
                "run": run,
                "corpus": "demo",
                "target_side": "raw",
                "target_language": "de",
                "seed": 1,
                "objective": settings,
            },
        )
        key = "length_penalty" if objective == "left_to_right" else "length_multiplier"
        candidates = [{"value": 1.0, "bleu": 60.0}, {"value": 1.1, "bleu": 61.0}]
        write_json(folder / "tuned.json", {"run": run, "key": key, "value": 1.1, "candidates": candidates})
        write_json(folder / "valid" / "d.analysis.json", {"run": run, "split": "valid", "skip_target_rate": 0.2})
        words = [line.replace(".", " .") for line in lines]
        for decode in DECODES:
            for suffix, text in ((".txt", lines), (".tok.txt", words), (".bpe.txt", words)):
                write_lines(folder / "test" / f"{decode}{suffix}", text)
    return tmp_path


def score_run(results: Path, run: str, *more: object, decode: str = "d") -> dict[str, Any]:
    folder = results / "runs" / run
    base = folder / "test" / decode
    out = Path(f"{base}.score.json")
    texts = ("--hypothesis", f"{base}.txt", "--tokenised", f"{base}.tok.txt", "--subwords", f"{base}.bpe.txt")
    records = (
        "--text-rules",
        results / "text.yaml",
        "--run-config",
        folder / "config.yaml",
        "--tuned",
        folder / "tuned.json",
    )
    names = ("--split", "test", "--decode", decode, "--out", out)
    call(score, *texts, "--references", results / "ref0", results / "ref1", *records, *names, *more)
    written: dict[str, Any] = read_json(out)
    return written


def choose_delta(results: Path) -> Path:
    out = results / "choices" / "axe-raw.json"
    folders = [results / "runs" / run for run in ("axe-raw-2", "axe-raw-1")]
    files = {"--tuned": "tuned.json", "--analysis": "valid/d.analysis.json", "--run-configs": "config.yaml"}
    words = [word for flag, name in files.items() for word in (flag, *(folder / name for folder in folders))]
    call(choose, "--group", "axe-raw", "--key", "skip_target_penalty", *words, "--out", out)
    return out


def summarise_all(results: Path) -> dict[str, Any]:
    for run in RUNS:
        score_run(results, run, "--accept", results / "accept")
    for run in FURTHER:
        score_run(results, run, "--accept", results / "accept", decode="ell1")
    scores = [results / "runs" / run / "test" / "d.score.json" for run in RUNS]
    further = [results / "runs" / run / "test" / "ell1.score.json" for run in FURTHER]
    tables = ("--markdown", results / "tables" / "results.md", "--csv", results / "tables" / "results.csv")
    outputs = ("--out", results / "summary.json", *tables)
    call(
        summarise,
        "--study-name",
        "toy",
        "--scores",
        *scores,
        "--further",
        *further,
        "--choices",
        choose_delta(results),
        *outputs,
    )
    written: dict[str, Any] = read_json(results / "summary.json")
    return written


def test_a_score_knows_its_run_its_settings_and_its_texts(results: Path) -> None:
    written = score_run(results, "axe-raw-2", "--accept", results / "accept")
    assert written["bleu"] == 100.0 and written["valid_share"] == 1.0 and written["repetition"] == 0.0
    assert (written["run"], written["objective"], written["target_side"]) == ("axe-raw-2", "axe", "raw")
    assert (written["skip_target_penalty"], written["length_multiplier"]) == (2.0, 1.1)
    assert read_lines(written["hypothesis"]) == REFERENCE and len(written["references"]) == 2


def test_a_score_stands_in_every_convention_of_its_language(results: Path) -> None:
    written = score_run(results, "teacher")
    found = written["conventions"]
    assert found.keys() == {"sacrebleu", "tokenised", "compound_split", "chrf", "ter"}
    keys = {"label", "value", "low", "high", "signature", "compared"}
    assert all(each.keys() == keys and each["low"] <= each["value"] <= each["high"] for each in found.values())
    main = found["sacrebleu"]
    assert [main[key] for key in ("value", "low", "high", "signature")] == [
        written[key] for key in ("bleu", "bleu_low", "bleu_high", "signature")
    ]
    assert found["tokenised"]["value"] == 100.0  # the words and the second reference, tokenised, are the same


def test_words_in_subwords_are_refused(results: Path) -> None:
    write_lines(results / "runs/ce-raw/test/d.tok.txt", ["Au@@ to"] * len(REFERENCE))
    with pytest.raises(UserError, match="subword marks"):
        score_run(results, "ce-raw")


def test_without_the_rules_of_the_corpus_there_is_no_score(results: Path) -> None:
    (results / "text.yaml").unlink()
    with pytest.raises(UserError, match=r"text\.yaml: no such file"):
        score_run(results, "ce-raw")


def test_a_score_tells_what_decoded_its_texts_or_that_it_is_unknown(results: Path) -> None:
    assert score_run(results, "ce-raw")["engine"] is None
    write_json(results / "e.json", {"engine": "onnx", "precision": "int8", "decode": "d", "value": 1.1})
    written = score_run(results, "ce-raw", "--record", results / "e.json")
    assert (written["engine"], written["precision"], written["length_multiplier"]) == ("onnx", "int8", 1.1)


@pytest.mark.parametrize("change", [{"decode": "ell1"}, {"value": 1.0}])
def test_what_another_decoding_left_is_refused(results: Path, change: dict[str, Any]) -> None:
    record = {"engine": "onnx", "precision": "int8", "decode": "d", "value": 1.1}
    write_json(results / "e.json", record | change)
    with pytest.raises(UserError, match=r"e\.json: decoded as .* with 1.*, not as d with 1\.1"):
        score_run(results, "ce-raw", "--record", results / "e.json")


def test_a_score_counts_repeats_and_leaves_unknown_what_it_cannot_tell(results: Path) -> None:
    written = score_run(results, "ce-raw")
    assert written["repetition"] == written["repetition_words"] == pytest.approx(15 / (30 * 10))
    assert written["valid_share"] is None and written["skip_target_penalty"] is None
    assert score_run(results, "teacher")["length_multiplier"] is None


def test_the_choice_of_a_tied_grid_is_the_smallest_delta(results: Path) -> None:
    choice = read_json(choose_delta(results))
    assert choice["chosen"] == "axe-raw-1"
    assert [candidate["value"] for candidate in choice["candidates"]] == [2.0, 1.0]
    assert {candidate["skip_target_rate"] for candidate in choice["candidates"]} == {0.2}


def test_the_summary_holds_every_score_and_compares_axe_with_cross_entropy(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = summarise_all(results)
    assert [entry["run"] for entry in summary["scores"]] == list(RUNS)
    assert [entry["chosen"] for entry in summary["scores"]] == [True, True, True, False]
    (comparison,) = summary["comparisons"]
    assert (comparison["a"], comparison["b"]) == ("axe-raw-1", "ce-raw")
    assert comparison["difference"] > 0 and comparison["p_value"] < 0.05
    assert comparison["p_value_randomisation"] < 0.05 and comparison["num_trials"] == 10_000
    assert comparison["p_value_repetition"] < 0.05
    assert summary["seeds"] == []
    printed = capsys.readouterr().out
    assert all(run in printed for run in RUNS)
    assert all(run in (results / "tables" / "results.md").read_text("utf-8") for run in RUNS)


def test_the_summary_holds_every_decoding_and_its_scores_are_those_of_the_runs_own(results: Path) -> None:
    summary = summarise_all(results)
    decodings = [(entry["run"], entry["decode"]) for entry in summary["decodings"]]
    assert decodings == [*((run, "d") for run in RUNS), *((run, "ell1") for run in FURTHER)]
    for entry, of_run in zip(summary["decodings"], summary["scores"], strict=False):
        assert entry == of_run | {"beam_size": None, "num_length_candidates": None, "iterations": None}
    own = read_json(results / "runs" / "ce-raw" / "test" / "d.score.json")
    assert summary["scores"][1] == own | {"chosen": True}
    assert [entry["num_length_candidates"] for entry in summary["decodings"][-2:]] == [1, 1]


def test_repeats_have_a_mean_in_the_summary(results: Path) -> None:
    paths = []
    for seed, run in ((1, "ce-raw"), (2, "teacher")):
        written = score_run(results, run) | {"run": f"ce-seed{seed}", "objective": "masked", "seed": seed}
        paths.append(results / f"seed{seed}.score.json")
        write_json(paths[-1], written)
    outputs = ("--out", results / "summary.json", "--markdown", results / "r.md", "--csv", results / "r.csv")
    call(summarise, "--study-name", "toy", "--scores", *paths, *outputs)
    summary = read_json(results / "summary.json")
    (record,) = summary["seeds"]
    assert (record["group"], record["num_seeds"]) == ("ce", 2)
    assert record["bleu_mean"] == pytest.approx(sum(score["bleu"] for score in summary["scores"]) / 2)
    assert all(score["chosen"] for score in summary["scores"])


def make_tables(results: Path, **more: Any) -> dict[str, str]:
    """Every file of the folder it writes, by name."""
    folders = [results / "runs" / run for run in RUNS]
    records = {
        "runs": folders,
        "scores": [folder / "test" / "d.score.json" for folder in folders],
        "further": [results / "runs" / run / "test" / "ell1.score.json" for run in FURTHER],
        "choices": [results / "choices" / "axe-raw.json"],
    }
    out = results / "study-tables"
    request = write_request(results / "request.yaml", study="toy", **records, **more)
    call(tables, "--request", request, "--out", out)
    return {path.name: path.read_text("utf-8") for path in out.iterdir()}


def test_every_table_is_written_in_all_forms_with_its_runs(results: Path) -> None:
    summarise_all(results)
    written = make_tables(results)
    forms = ("md", "csv", "tex", "table.json")
    assert written.keys() == {f"{name}.{form}" for name in TABLE_NAMES for form in forms}
    for form in forms:
        assert all(run in written[f"repetitions.{form}"] for run in RUNS)
        assert "axe-raw-2" in written[f"skip_target_penalty.{form}"]
        assert all(run in written[f"decodings.{form}"] for run in RUNS)
    assert sum("| ell1 |" in line for line in written["decodings.md"].splitlines()) == len(FURTHER)
    assert "without BLEU by length on test: teacher, ce-raw, axe-raw-1" in written["lengths.md"]


def test_only_the_tables_asked_for_are_written(results: Path) -> None:
    written = make_tables(results, names=["lengths"])
    assert written.keys() == {f"lengths.{form}" for form in ("md", "csv", "tex", "table.json")}


def test_published_numbers_stand_beside_those_of_the_papers_own_corpus(results: Path) -> None:
    summarise_all(results)
    paper = Path(__file__).parents[2] / "config" / "paper.yaml"
    beside = make_tables(results, paper=paper, lacking=["needs a run like it"])
    assert "another corpus than demo" in beside["repetitions.md"] and "16.72%" in beside["repetitions.md"]
    assert "Missing: this table needs a run like it." in beside["repetitions.md"]
    own = make_tables(results, paper=paper, paper_columns={"demo": "wmt16-en-ro"})
    assert "| difference |" in own["repetitions.md"] and "16.72%" not in own["repetitions.md"]
    with pytest.raises(UserError, match=r"request\.yaml: paper_columns\.demo must be one of wmt14-en-de, .*'wmt15'"):
        make_tables(results, paper=paper, paper_columns={"demo": "wmt15"})


def test_a_run_of_another_training_objective_is_never_the_one_compared(results: Path) -> None:
    """However good it is: it stands in the table of objectives."""
    config = results / "runs" / "axe-raw-1" / "config.yaml"
    write_yaml(config, read_yaml(config) | {"objective": {"name": "axe", "observe": "none", "score": "all"}})
    assert score_run(results, "axe-raw-1")["ablation"] is True and score_run(results, "ce-raw")["ablation"] is False
    scores = [score_run(results, run) for run in RUNS]
    alone = mark_chosen(scores, [])
    assert [score["run"] for score in alone if score["chosen"]] == ["teacher", "ce-raw", "axe-raw-2"]
    assert [(a["run"], b["run"]) for a, b in pairs_to_compare(alone)] == [("axe-raw-2", "ce-raw")]


def test_tables_of_a_study_that_has_not_begun_name_what_is_missing(tmp_path: Path) -> None:
    written = make_tables(tmp_path)
    for name in ("target_sides", "length_multiplier", "lengths", "repetitions", "decodings"):
        assert all(run in written[f"{name}.md"] for run in RUNS), name
    assert "axe-raw.json: no such file" in written["skip_target_penalty.md"]


def test_a_wrong_file_is_named_with_the_keys_that_are_expected(results: Path) -> None:
    summarise_all(results)
    tuned, config = results / "runs/ce-raw/tuned.json", results / "runs/ce-raw/config.yaml"
    scored = results / "runs/ce-raw/test/d.score.json"
    write_yaml(results / "other.yaml", {"run": "ce-raw", "corpus": "demo", "objective": "masked"})
    write_json(results / "best.json", {"checkpoints": []})
    with pytest.raises(UserError, match=r"other\.yaml: objective.name is missing; expected the keys run, corpus"):
        score_run(results, "ce-raw", "--run-config", results / "other.yaml")
    with pytest.raises(UserError, match=r"best\.json: key is missing; expected the keys key, value"):
        score_run(results, "ce-raw", "--tuned", results / "best.json")
    outputs = ("--out", results / "s.json", "--markdown", results / "s.md", "--csv", results / "s.csv")
    with pytest.raises(UserError, match=r"tuned\.json: corpus is missing; expected the keys run, corpus, objective"):
        call(summarise, "--study-name", "toy", "--scores", tuned, *outputs)
    with pytest.raises(UserError, match=r"tuned\.json: group is missing; expected the keys group, key, chosen"):
        call(summarise, "--study-name", "toy", "--scores", scored, "--choices", tuned, *outputs)
    flags = ("--tuned", results / "best.json", "--run-configs", config, "--out", results / "c.json")
    with pytest.raises(UserError, match=r"best\.json: run is missing; expected the keys run, key, value, candidates"):
        call(choose, "--group", "g", "--key", "seed", *flags)
    assert not list(results.glob("[sc].*"))


def test_metrics_are_the_numbers_of_a_score_and_nothing_else(results: Path) -> None:
    written = score_run(results, "ce-raw", "--metrics", results / "metrics.json")
    metrics = read_json(results / "metrics.json")
    assert all(isinstance(value, float) for value in metrics.values())
    flat = {**written, **{name: each["value"] for name, each in written["conventions"].items()}}
    assert metrics == {name: flat[name] for name in metrics}
    assert {"bleu", "chrf", "ter", "length_multiplier"} <= set(metrics), "and no length_penalty, which was not tuned"
    assert "length_penalty" not in metrics


def test_bad_input_leaves_no_score_behind(results: Path) -> None:
    write_lines(results / "ref1", REFERENCE[:-1])
    with pytest.raises(UserError, match="30 hypotheses but 29"):
        score_run(results, "ce-raw")
    assert not (results / "runs/ce-raw/test/d.score.json").exists()
