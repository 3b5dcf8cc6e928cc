"""MLflow is a window on the files: sending twice adds nothing, and a store that is down stops nobody.

One real database for all tests here: making its tables takes seconds.
"""

import argparse
import json
import os
import shutil
import socket
import time

import pytest

from axenat import tracking
from axenat.files import UserError, write_json, write_text, write_yaml
from axenat.stages import publish

COMMIT, DATA = "0123abcd" * 5, "d41d8cd98f00b204e9800998ecf8427e.dir"


def valid(step: int, loss: float) -> dict[str, object]:
    return {"kind": "valid", "step": step, "epoch": 0, "loss": loss, "token_loss": loss}


def make_run(results, name: str, losses: list[float]) -> None:
    """What the stages leave in a run's folder."""
    folder = results / "runs" / name
    config = {"run": name, "corpus": "demo", "target_side": "raw", "objective": {"name": "axe", "label_smoothing": 0.1}}
    write_yaml(folder / "config.yaml", {**config, "train": {"peak_lr": 0.001}})
    write_yaml(folder / "decode.yaml", {"beam_size": 5})
    lines = [valid(10 * number, loss) for number, loss in enumerate(losses, start=1)]
    write_text(folder / "history.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    write_json(folder / "best.json", {"checkpoints": []})
    write_json(folder / "provenance.json", {"commit": COMMIT, "dirty": False, "host": "here", "slurm_job": None})
    candidates = [{"value": 1.0, "bleu": 20.0}, {"value": 1.1, "bleu": 21.0}]
    write_json(folder / "tuned.json", {"key": "length_multiplier", "value": 1.1, "candidates": candidates})
    score = {"run": name, "split": "test", "decode": "ell5", "bleu": 22.5, "signature": "nrefs:8", "valid_share": None}
    write_json(folder / "test" / "ell5.score.json", score)
    write_text(folder / "test" / "ell5.txt", "Hallo\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with a database of its own, as after a demo."""
    folder = tmp_path_factory.mktemp("mlflow")
    before = os.getcwd()
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        make_run(folder / "results", "axe", [3.0, 2.0])
        write_yaml(folder / "data.dvc", {"outs": [{"md5": DATA}]})
        yield folder
    os.chdir(before)


def send(*runs: str) -> None:
    parser = argparse.ArgumentParser()
    publish.add_arguments(parser)
    publish.main(parser.parse_args(["--study", "toy", "--runs", *runs]))


def stored() -> dict[str, object]:
    """The runs in the store by name."""
    client = tracking.Tracker(tracking.tracking_uri())
    runs = client.client.search_runs([client.experiment_id])
    assert len({run.info.run_name for run in runs}) == len(runs), "a run is there twice"
    return {run.info.run_name: run for run in runs}


def curve(run, key: str) -> list[tuple[int, float]]:
    client = tracking.Tracker(tracking.tracking_uri()).client
    return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, key)]


def artifacts(run) -> set[str]:
    client = tracking.Tracker(tracking.tracking_uri()).client
    return {item.path for item in client.list_artifacts(run.info.run_id)}


def test_a_run_its_tuning_and_its_scores_are_told_in_full(folder, capsys) -> None:
    send("axe", "not-trained-yet")
    assert "published 1 runs of study toy" in capsys.readouterr().out
    runs = stored()
    assert runs.keys() == {"toy", "axe/train", "axe/tune", "axe/score/test/ell5"}
    train, tune, score = (runs[name] for name in ("axe/train", "axe/tune", "axe/score/test/ell5"))
    assert curve(train, "valid.loss") == [(10, 3.0), (20, 2.0)]
    assert train.data.params["train.peak_lr"] == "0.001" and train.data.params["objective.name"] == "axe"
    assert artifacts(train) == {"config.yaml", "history.jsonl", "best.json", "provenance.json"}
    assert curve(tune, "valid.bleu") == [(1000, 20.0), (1100, 21.0)]
    assert tune.data.params["length_multiplier"] == "1.1"
    assert score.data.metrics == {"test.bleu": 22.5}
    assert score.data.tags["signature"] == "nrefs:8"
    assert artifacts(score) == {"ell5.score.json", "ell5.txt"}
    for run in (train, tune, score):
        assert run.data.tags["mlflow.source.git.commit"] == COMMIT
        assert run.data.tags["data_version"] == DATA
        assert run.data.tags["mlflow.parentRunId"] == runs["toy"].info.run_id
        assert run.info.status == "FINISHED"


def test_sending_again_adds_nothing_and_a_new_run_only_itself(folder) -> None:
    send("axe")
    before = {name: run.info.run_id for name, run in stored().items()}
    send("axe")
    runs = stored()
    assert {name: run.info.run_id for name, run in runs.items()} == before
    assert curve(runs["axe/train"], "valid.loss") == [(10, 3.0), (20, 2.0)]
    make_run(folder / "results", "ce", [4.0])
    send("axe", "ce")
    assert stored().keys() == before.keys() | {"ce/train", "ce/tune", "ce/score/test/ell5"}


def test_scores_of_further_decodings_are_sent_if_they_are_named_and_there(folder) -> None:
    make_run(folder / "results", "twice", [3.0])
    make_run(folder / "results", "once", [3.0])
    place = folder / "results" / "runs" / "twice" / "test"
    score = {"run": "twice", "split": "test", "decode": "ell1", "bleu": 21.5, "signature": "nrefs:8", "engine": "onnx"}
    for decode in ("ell1", "ell7"):  # the second of another study
        write_json(place / f"{decode}.score.json", {**score, "decode": decode})
        write_text(place / f"{decode}.txt", "Hallo\n")
    further = [f"results/runs/{run}/test/ell1.score.json" for run in ("twice", "once")]
    send("twice", "once", "--further", *further)
    runs = {name: run for name, run in stored().items() if name.startswith(("twice/score", "once/score"))}
    assert runs.keys() == {"twice/score/test/ell5", "twice/score/test/ell1", "once/score/test/ell5"}
    further_run = runs["twice/score/test/ell1"]
    assert further_run.data.metrics == {"test.bleu": 21.5} and artifacts(further_run) == {"ell1.score.json", "ell1.txt"}


def test_a_growing_history_is_sent_line_by_line_and_a_changed_one_anew(folder) -> None:
    make_run(folder / "results", "grows", [3.0])
    place = folder / "results" / "runs" / "grows"
    (place / "checkpoints").mkdir()
    shutil.move(place / "history.jsonl", place / "checkpoints" / "history.jsonl")  # as while it trains
    tracker = tracking.Tracker(tracking.tracking_uri())
    first = tracking.publish_training(tracker, place)
    with (place / "checkpoints" / "history.jsonl").open("a") as stream:
        stream.write(json.dumps(valid(20, 2.5)) + "\n")
    assert tracking.publish_training(tracker, place) == first
    assert curve(stored()["grows/train"], "valid.loss") == [(10, 3.0), (20, 2.5)]
    write_text(place / "checkpoints" / "history.jsonl", json.dumps(valid(10, 9.0)) + "\n")  # trained on other data
    assert tracking.publish_training(tracker, place) != first
    assert curve(stored()["grows/train"], "valid.loss") == [(10, 9.0)]


def test_what_the_clock_said_is_sent_once_and_half_a_line_is_left_for_later(folder) -> None:
    make_run(folder / "results", "fast", [3.0])
    speed = folder / "results" / "runs" / "fast" / "checkpoints" / "speed.jsonl"
    line = '{"step": %d, "tokens_per_second": %d, "data": 0.5}'
    write_text(speed, line % (10, 100) + "\n" + line[:20])
    send("fast")
    write_text(speed, line % (10, 100) + "\n" + line % (20, 200) + "\n")
    for _ in range(2):
        send("fast")
    assert curve(stored()["fast/train"], "speed.tokens_per_second") == [(10, 100.0), (20, 200.0)]
    assert curve(stored()["fast/train"], "speed.data") == [(10, 0.5), (20, 0.5)]


def test_a_changed_score_or_configuration_replaces_what_was_there(folder) -> None:
    make_run(folder / "results", "changes", [3.0])
    send("changes")
    before = stored()
    place = folder / "results" / "runs" / "changes"
    write_json(place / "test" / "ell5.score.json", {"split": "test", "decode": "ell5", "bleu": 30.0, "signature": "s"})
    send("changes")
    after = stored()
    assert after.keys() == before.keys()
    assert after["changes/score/test/ell5"].data.metrics == {"test.bleu": 30.0}
    assert after["changes/train"].info.run_id == before["changes/train"].info.run_id


def test_a_run_that_dvc_restored_without_its_provenance_is_sent_too(folder) -> None:
    make_run(folder / "results", "restored", [3.0])
    (folder / "results/runs/restored/provenance.json").unlink()
    send("restored")
    train = stored()["restored/train"]
    assert "mlflow.source.git.commit" not in train.data.tags
    assert train.data.tags["corpus"] == "demo" and train.info.status == "FINISHED"


@pytest.fixture
def dead_server(monkeypatch) -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    return address


def test_a_server_that_is_down_is_one_sentence_and_quickly(folder, dead_server) -> None:
    started = time.monotonic()
    with pytest.raises(UserError) as caught:
        send("axe")
    assert time.monotonic() - started < 15
    message = str(caught.value)
    assert message.startswith(f"MLflow at {dead_server} did not take the runs") and "\n" not in message


def test_a_server_that_is_down_stops_no_training(folder, dead_server, monkeypatch, caplog) -> None:
    monkeypatch.setattr(tracking, "FOLLOW_SECONDS", 0.01)
    started = time.monotonic()
    with tracking.following(folder / "results" / "runs" / "axe"):
        time.sleep(0.1)
    assert time.monotonic() - started < 2  # nobody waits for the thread


def test_the_default_store_is_the_one_that_mlflow_ui_opens(folder, monkeypatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert tracking.tracking_uri() == f"sqlite:///{folder.resolve()}/mlflow.db"


def test_nested_keys_become_flat() -> None:
    assert tracking.flat({"a": 1, "b": {"c": 2, "d": {"e": [3]}}}) == {"a": 1, "b.c": 2, "b.d.e": [3]}
