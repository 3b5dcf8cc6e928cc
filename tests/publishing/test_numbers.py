"""Every number in MLflow is the number of a written file, under the name of its own split, step and decoding.

The files of these runs hold no number twice, so that none can stand in for another.
"""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from axenat import cli
from axenat.files import read_json, read_yaml, write_json, write_text, write_yaml
from tests.publishing.made import Store, as_while_it_trains, jsonl, make_run, send

Points = set[tuple[str, int, float]]
# Numbers of a score that its decoding was given, and that it did not measure.
GIVEN = {"seed", "skip_target_penalty", "length_multiplier", "length_penalty", "num_bootstrap", "bootstrap_seed"}


def numbers(start: float) -> Iterator[float]:
    """None twice, and all of them exact in binary."""
    return (start + step / 64 for step in count(1))


def make_distinct_run(results: Path, name: str, start: float) -> Path:
    """As the stages leave it, with keys as they write them."""
    folder, values = make_run(results, name, [1.0]), numbers(start)

    def some(*keys: str) -> dict[str, float]:
        return {key: next(values) for key in keys}

    history: list[dict[str, Any]] = []
    for step in (10, 20, 30):
        epoch = step // 20
        history.append({"kind": "train", "step": step, "epoch": epoch, **some("lr", "grad_norm", "loss", "token_loss")})
        history.append({"kind": "valid", "step": step, "epoch": epoch, **some("loss", "token_loss", "length_loss")})
    write_text(folder / "history.jsonl", jsonl(*history))
    speed = [{"step": step, "time": 1e9 + 7 * step, **some("seconds", "tokens_per_second")} for step in (10, 25)]
    write_text(folder / "checkpoints/speed.jsonl", jsonl(*speed))
    system = [{"time": 2e9 + seconds, **some("process_memory_megabytes")} for seconds in (0, 31)]
    write_text(folder / "checkpoints/system.jsonl", jsonl(*system))
    low, middle, high = some("low", "middle", "high").values()
    grid = zip((0.9, 1.05, 1.2), (low, high, middle), strict=True)
    candidates = [{"value": value, "bleu": bleu} for value, bleu in grid]
    tuned = {"key": "length_multiplier", "value": 1.05, "bleu": high, "candidates": candidates}
    write_json(folder / "tuned.json", tuned)
    for decode in ("ell5", "ell1", "ell3-t4"):
        measured = some("bleu", "bleu_low", "bleu_high", "length_ratio", "repetition", "valid_share", "brevity_penalty")
        given = {"seed": 4711, "num_bootstrap": 999, "bootstrap_seed": 77, "skip_target_penalty": 2.5}
        about = {"run": name, "split": "test", "decode": decode, "signature": f"sig-{decode}", "engine": "torch"}
        write_json(folder / f"test/{decode}.score.json", {**about, **measured, **given, "length_multiplier": 1.05})
        write_text(folder / f"test/{decode}.txt", f"Hallo {name} {decode}\n")
    return folder


@pytest.fixture(scope="module")
def sent(folder: Path) -> dict[str, Path]:
    """Two runs of one study; one has further decodings in it."""
    runs = {"one": make_distinct_run(folder / "results", "one", 100.0)}
    runs["two"] = make_distinct_run(folder / "results", "two", 300.0)
    for split in ("valid", "test", "train"):
        for language in ("en", "de"):
            write_text(folder / f"data/demo/{split}.{language}", f"{split} text in {language}\n")
    further = [f"results/runs/one/test/{decode}.score.json" for decode in ("ell1", "ell3-t4")]
    send("one", "two", study="distinct", flags=("--further", *further))
    return runs


def stored(store: Store, name: str) -> Points:
    """All points of all curves of a run."""
    keys = store.runs()[name].data.metrics
    return {(key, step, value) for key in keys for step, value in store.curve(name, key)}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def drawn(line: dict[str, Any]) -> dict[str, float]:
    return {key: value for key, value in line.items() if key not in ("kind", "step", "time")}


def measured(score: Path) -> dict[str, float]:
    return {key: value for key, value in read_json(score).items() if isinstance(value, float) and key not in GIVEN}


@pytest.mark.parametrize("name", ["one", "two"])
def test_curves_of_a_training_are_the_lines_of_its_files_by_kind_and_step(sent, store, name) -> None:
    run = sent[name]
    history = {
        (f"{line['kind']}/{key}", line["step"], value)
        for line in lines_of(run / "history.jsonl")
        for key, value in drawn(line).items()
    }
    speed = {
        (f"speed/{key}", line["step"], value)
        for line in lines_of(run / "checkpoints/speed.jsonl")
        for key, value in drawn(line).items()
    }
    machine = lines_of(run / "checkpoints/system.jsonl")
    system = {
        (f"system/{key}", round(line["time"] - machine[0]["time"]), value)
        for line in machine
        for key, value in drawn(line).items()
    }
    tuned = read_json(run / "tuned.json")
    ends = {f"test/{key}": value for key, value in measured(run / "test/ell5.score.json").items()}
    ends |= {"valid/bleu": tuned["bleu"], "tuned/lambda": tuned["value"]}
    told = stored(store, name)
    expected = history | speed | system
    assert told >= expected
    end = {key: value for key, step, value in told - expected}
    assert end.items() <= ends.items() and all(step == 0 for _, step, _ in told - expected)
    assert {"test/bleu", "test/bleu_low", "test/bleu_high", "test/repetition", "test/valid_share"} <= end.keys()
    assert {"valid/bleu", "tuned/lambda"} <= end.keys()


def test_a_point_has_the_time_of_the_last_line_of_speed_at_or_before_its_step(sent, store) -> None:
    run_id, start = store.ids()["one"], round(1000 * (1e9 + 70 - read_speed(sent["one"])[0]["seconds"]))
    times = {point.step: point.timestamp for point in store.client.get_metric_history(run_id, "valid/loss")}
    assert times == {10: 1000 * (10**9 + 70), 20: 1000 * (10**9 + 70), 30: 1000 * (10**9 + 175)}
    machine = store.client.get_metric_history(run_id, "system/process_memory_megabytes")
    assert [point.timestamp for point in machine] == [2 * 10**12, 2 * 10**12 + 31_000]
    info = store.runs()["one"].info
    assert (info.start_time, info.end_time) == (start, 1000 * (10**9 + 175))


def read_speed(run: Path) -> list[dict[str, Any]]:
    return lines_of(run / "checkpoints/speed.jsonl")


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_tuning_is_the_grid_of_valid_and_nothing_of_test(sent, store, name) -> None:
    candidates = read_json(sent[name] / "tuned.json")["candidates"]
    assert stored(store, f"{name}/tune") == {
        ("valid/bleu", round(1000 * one["value"]), one["bleu"]) for one in candidates
    }


@pytest.mark.parametrize(("name", "decode"), [("one", "ell5"), ("one", "ell1"), ("one", "ell3-t4"), ("two", "ell5")])
def test_a_score_is_the_measured_numbers_of_its_own_file_under_its_split(sent, store, name, decode) -> None:
    score = sent[name] / f"test/{decode}.score.json"
    run = f"{name}/score/test/{decode}"
    assert stored(store, run) == {(f"test/{key}", 0, value) for key, value in measured(score).items()}
    tags = store.runs()[run].data.tags
    assert (tags["decode"], tags["signature"], tags["engine"]) == (decode, f"sig-{decode}", "torch")
    assert (tags["run"], tags["mlflow.parentRunId"]) == (name, store.ids()[name])


def test_only_decodings_that_were_named_are_scores_of_a_run(sent, store) -> None:
    assert {run for run in store.runs() if run.startswith("two/score")} == {"two/score/test/ell5"}


def test_a_study_shows_the_scores_of_each_run_under_its_name(sent, store) -> None:
    shown = {(key, value) for key, _, value in stored(store, "distinct")}
    for name, run in sent.items():
        score = read_json(run / "test/ell5.score.json")
        assert (f"test/bleu/{name}", score["bleu"]) in shown
        assert (f"test/repetition/{name}", score["repetition"]) in shown
        assert (f"valid/bleu/{name}", read_json(run / "tuned.json")["bleu"]) in shown
    assert len(shown) == 6


LETTERS = {"objective.skip_target_penalty": "delta", "length_multiplier": "lambda"}


def flattened(values: dict[str, Any]) -> dict[str, str]:
    """One level of sections, as these configurations have it."""
    plain: dict[str, str] = {}
    for key, value in values.items():
        inside = {f"{key}.{name}": one for name, one in value.items()} if isinstance(value, dict) else {key: value}
        plain |= {LETTERS.get(name, name): str(one) for name, one in inside.items()}
    return plain


def test_parameters_are_the_keys_of_the_configuration_and_of_the_decoding(sent, store) -> None:
    runs = store.runs()
    config = flattened(read_yaml(sent["one"] / "config.yaml"))
    assert runs["one"].data.params == config
    assert runs["one/tune"].data.params == {**config, "lambda": "1.05", "ell": "5"}
    for decode, sizes in {
        "ell5": {"ell": "5", "iterations": "1"},
        "ell1": {"ell": "1", "iterations": "1"},
        "ell3-t4": {"ell": "3", "iterations": "4"},
    }.items():
        assert runs[f"one/score/test/{decode}"].data.params == {**config, "lambda": "1.05", **sizes}, decode


def test_files_in_the_store_are_those_of_the_run(sent, store) -> None:
    run = sent["two"]
    own = ("config.yaml", "decode.yaml", "history.jsonl", "best.json", "tuned.json", "provenance.json")
    for name in own:
        assert store.text("two", name) == (run / name).read_text(), name
    assert store.text("two", "scores/test-ell5.score.json") == (run / "test/ell5.score.json").read_text()
    assert store.text("two/tune", "tuned.json") == (run / "tuned.json").read_text()
    for name in ("ell5.score.json", "ell5.txt"):
        assert store.text("two/score/test/ell5", name) == (run / "test" / name).read_text(), name


def test_samples_stand_below_the_source_and_the_reference_of_their_own_split(sent, store) -> None:
    rows = store.text("two", "samples/test-samples.txt").splitlines()
    assert dict(row.split(maxsplit=1) for row in rows if row) == {
        "source": "test text in en",
        "reference": "test text in de",
        "translation": "Hallo two ell5",
    }


def test_a_training_that_goes_on_shows_its_lines_among_the_checkpoints(folder, store) -> None:
    place = make_distinct_run(folder / "results", "unfinished", 500.0)
    as_while_it_trains(place)
    send("unfinished", study="other")
    expected = {
        (f"{line['kind']}/{key}", line["step"], value)
        for line in lines_of(place / "checkpoints/history.jsonl")
        for key, value in drawn(line).items()
    }
    told = stored(store, "unfinished")
    assert {point for point in told if not point[0].startswith(("speed", "system"))} == expected
    assert store.runs()["unfinished"].info.status == "KILLED", "nobody trains it now"
    assert not [name for name in store.runs() if name.startswith("unfinished/")], "no score of an earlier training"


def test_a_teacher_shows_its_beam_and_its_length_penalty(folder, store) -> None:
    place = make_run(folder / "results", "teacher", [3.0])
    config = read_yaml(place / "config.yaml")
    write_yaml(place / "config.yaml", {**config, "objective": {"name": "left_to_right", "label_smoothing": 0.1}})
    write_yaml(place / "decode.yaml", {"run": "teacher", "beam_size": 4, "length_penalties": [0.6, 1.4]})
    candidates = [{"value": 0.6, "bleu": 31.0}, {"value": 1.4, "bleu": 30.0}]
    write_json(place / "tuned.json", {"key": "length_penalty", "value": 0.6, "candidates": candidates})
    (place / "test/ell5.score.json").unlink()
    score = {"run": "teacher", "split": "test", "decode": "beam4", "bleu": 33.0, "signature": "s"}
    write_json(place / "test/beam4.score.json", {**score, "length_multiplier": None, "length_penalty": 0.6})
    send("teacher", study="other")
    runs = store.runs()
    for name in ("teacher/tune", "teacher/score/test/beam4"):
        params = runs[name].data.params
        assert (params["b"], params["length_penalty"]) == ("4", "0.6") and "lambda" not in params
    assert runs["teacher"].data.metrics["tuned/length_penalty"] == 0.6
    assert runs["teacher"].data.tags["objective"] == "left_to_right"


def test_a_configuration_names_the_further_decodings_that_are_sent(folder, store) -> None:
    place = make_distinct_run(folder / "results", "configured", 700.0)
    corpus = {"source_language": "en", "target_language": "de", "folder": "text"}
    run = {"corpus": "demo", "objective": {"name": "axe"}, "decode": {"also": ["ell3-t4"]}}
    write_yaml(folder / "further.yaml", {"study": "further", "corpora": {"demo": corpus}, "runs": {"configured": run}})
    assert cli.main(["publish", "--config", "further.yaml"]) == 0
    scores = {name: stored(store, name) for name in store.runs() if name.startswith("configured/score")}
    assert scores == {
        f"configured/score/test/{decode}": {
            (f"test/{key}", 0, value) for key, value in measured(place / f"test/{decode}.score.json").items()
        }
        for decode in ("ell5", "ell3-t4")
    }


def test_what_comes_after_the_patience_is_named_and_not_sent(folder, store, capsys) -> None:
    for number, name in enumerate(("late", "later")):
        make_distinct_run(folder / "results", name, 900.0 + 100 * number)
    flags = ["--study", "patient", "--runs", "late", "later", "--patience"]
    assert cli.main(["publish", *flags, "1e-9"]) == 2
    assert "MLflow is too slow: late and what follows was not sent; publish again later" in capsys.readouterr().err
    assert "late" not in store.runs()
    assert cli.main(["publish", *flags, "3600"]) == 0
    assert {"late", "later"} <= store.runs().keys()
