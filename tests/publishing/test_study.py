"""MLflow is a window on the files: it tells them in full, sending twice adds nothing, and nothing stale stays."""

import os
import time

import pytest

from axenat.files import UserError, write_json, write_text, write_yaml
from axenat.publishing import run_files, training
from axenat.stages import publish
from tests.publishing.made import COMMIT, DATA, as_while_it_trains, jsonl, make_run, make_score, send, valid


def test_a_run_its_tuning_and_its_scores_are_told_in_full(folder, store, capsys) -> None:
    send("axe", "not-trained-yet")
    assert "published 1 runs of study toy" in capsys.readouterr().out
    runs = store.runs()
    told = {name for name in runs if name.split("/")[0] in ("axe", "not-trained-yet")}
    assert told == {"axe", "axe/tune", "axe/score/test/ell5"} and "toy" in runs
    train, tune, score = (runs[name] for name in ("axe", "axe/tune", "axe/score/test/ell5"))
    assert store.curve("axe", "valid/loss") == [(10, 3.0), (20, 2.0)]
    assert train.data.params["train.peak_lr"] == "0.001" and train.data.params["objective.name"] == "axe"
    assert train.data.params["delta"] == "2.0", "the paper's letter"
    assert store.curve("axe/tune", "valid/bleu") == [(1000, 20.0), (1100, 21.0)]
    assert tune.data.params["lambda"] == score.data.params["lambda"] == "1.1" and score.data.params["ell"] == "5"
    assert score.data.metrics == {"test/bleu": 22.5}
    assert score.data.tags["signature"] == "nrefs:8"
    assert store.files("axe/score/test/ell5") == {"ell5.score.json", "ell5.txt"}
    for run, stage in ((train, "train"), (tune, "tune"), (score, "score/test/ell5")):
        tags = run.data.tags
        assert tags["mlflow.source.git.commit"] == COMMIT and tags["dirty"] == "False"
        assert (tags["host"], tags["slurm_job"], tags["stage"], tags["study"]) == ("here", "17", stage, "toy")
        assert (tags["run"], tags["corpus"], tags["objective"], tags["target_side"]) == ("axe", "demo", "axe", "raw")
        assert run.info.status == "FINISHED" and tags["data_version"] == DATA


def test_a_job_that_was_refused_before_it_trained_is_named_by_its_log(folder, store) -> None:
    as_while_it_trains(make_run(folder / "results", "refused", [3.0]))
    for age, job in ((60, 17), (0, 18)):
        log = folder / f"slurm_logs/rule_train/refused/{job}.log"
        write_text(log, "refused")
        os.utime(log, (time.time() - age,) * 2)
    send("refused")
    tags = store.runs()["refused"].data.tags
    assert (tags["slurm_job"], tags["slurm_log"]) == ("18", "slurm_logs/rule_train/refused/18.log")


def test_the_run_itself_shows_curves_end_result_data_and_files_together(folder, store) -> None:
    send("axe")
    run = store.runs()["axe"]
    final = {"test/bleu": 22.5, "valid/bleu": 21.0, "tuned/lambda": 1.1, "valid/loss": 2.0}
    assert run.data.metrics.items() >= final.items()
    (data,) = run.inputs.dataset_inputs
    assert (data.dataset.name, data.dataset.digest) == ("demo", DATA), "DVC's own sum of the data"
    assert store.files("axe") == {
        "config.yaml", "decode.yaml", "history.jsonl", "best.json", "tuned.json", "provenance.json", "log-tail.txt",
        "scores/test-ell5.score.json", "samples/test-samples.txt", "plots/training.svg",
    }  # fmt: skip
    assert store.text("axe", "samples/test-samples.txt").split() == [
        "source", "hello", "translation", "Hallo", "source", "world", "translation", "Welt",
    ]  # fmt: skip
    assert store.text("axe", "log-tail.txt") == "second\nlast\n"
    assert store.text("axe", "plots/training.svg").startswith("<?xml")


def test_a_study_is_one_parent_with_the_scores_of_all_its_runs(folder, store) -> None:
    make_run(folder / "results", "ce", [4.0], bleu=11.0)
    write_text(folder / "results/tables/results.md", "| run | BLEU |\n")
    write_text(folder / "results/figures/training.svg", "<svg/>")
    send("axe", "ce")
    runs = store.runs()
    parent = runs["toy"]
    assert parent.data.metrics.items() >= {"test/bleu/axe": 22.5, "test/bleu/ce": 11.0, "valid/bleu/ce": 21.0}.items()
    assert parent.data.tags["mlflow.note.content"] == "| run | BLEU |\n"
    assert {"tables/results.md", "plots/training.svg"} <= store.files("toy")
    above = {name: runs[name].data.tags["mlflow.parentRunId"] for name in runs if name.split("/")[0] in ("axe", "ce")}
    assert above["axe"] == above["ce"] == parent.info.run_id
    assert above["ce/tune"] == above["ce/score/test/ell5"] == runs["ce"].info.run_id


def test_runs_of_a_study_differ_in_colour_and_a_colour_that_was_chosen_by_hand_stays(folder, store) -> None:
    make_run(folder / "results", "ce", [4.0], bleu=11.0)
    send("axe", "ce")
    runs = store.runs()
    assert runs["axe"].data.tags["mlflow.runColor"] != runs["ce"].data.tags["mlflow.runColor"]
    store.client.set_tag(runs["ce"].info.run_id, "mlflow.runColor", "#000000")
    send("axe", "ce")
    assert store.runs()["ce"].data.tags["mlflow.runColor"] == "#000000"


def test_sending_again_adds_nothing_and_a_new_run_only_itself(folder, store) -> None:
    send("axe")
    before = store.ids()
    send("axe")
    assert store.ids() == before
    assert store.curve("axe", "valid/loss") == [(10, 3.0), (20, 2.0)]
    assert store.curve("axe", "test/bleu") == [(0, 22.5)] and store.curve("toy", "test/bleu/axe") == [(0, 22.5)]
    make_run(folder / "results", "new", [4.0])
    send("axe", "new")
    assert store.ids().items() >= before.items()
    assert store.ids().keys() == before.keys() | {"new", "new/tune", "new/score/test/ell5"}


def test_a_sending_that_broke_off_is_completed_without_a_point_twice(folder, store) -> None:
    place = make_run(folder / "results", "broken", [3.0, 2.0])
    write_text(place / "checkpoints/speed.jsonl", jsonl({"step": 10, "time": 1e9, "seconds": 5.0}))
    send("broken")
    run = store.runs()["broken"]
    assert run.info.start_time == 999_999_995_000, "when it began, not when it was sent"
    for tag in ("axenat.history_lines", "axenat.history_sha256", "axenat.speed_step", "axenat.files", "data_version"):
        store.client.delete_tag(run.info.run_id, tag)  # as if the store had died before it was told
    store.client.delete_tag(store.ids()["broken/tune"], "axenat.complete")
    send("broken")
    assert store.ids()["broken"] == run.info.run_id
    assert store.curve("broken", "valid/loss") == [(10, 3.0), (20, 2.0)]
    assert store.curve("broken", "speed/seconds") == [(10, 5.0)]
    assert store.curve("broken/tune", "valid/bleu") == [(1000, 20.0), (1100, 21.0)]
    assert len(store.runs()["broken"].inputs.dataset_inputs) == 1


def test_another_store_is_sent_everything(folder, store, monkeypatch, tmp_path) -> None:
    """What was sent where is written in the store and nowhere else."""
    send("axe")
    here = store.runs()["axe"].data.metrics
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db")
    send("axe")
    other = type(store)()
    assert other.runs()["axe"].data.metrics == here and other.files("axe") == store.files("axe")
    assert other.ids().keys() == {"toy", "axe", "axe/tune", "axe/score/test/ell5"}


def test_scores_of_further_decodings_are_sent_if_they_are_named_and_there(folder, store) -> None:
    place = make_run(folder / "results", "twice", [3.0])
    make_run(folder / "results", "once", [3.0])
    make_score(place, "ell1", 21.5)
    make_score(place, "ell7", 21.5)  # of another study
    further = [f"results/runs/{run}/test/ell1.score.json" for run in ("twice", "once")]
    send("twice", "once", "--further", *further)
    runs = {name: run for name, run in store.runs().items() if name.startswith(("twice/score", "once/score"))}
    assert runs.keys() == {"twice/score/test/ell5", "twice/score/test/ell1", "once/score/test/ell5"}
    further_run = runs["twice/score/test/ell1"]
    assert further_run.data.metrics == {"test/bleu": 21.5} and further_run.data.params["ell"] == "1"
    assert store.runs()["twice"].data.metrics["test/bleu"] == 22.5, "of the run's own decoding"
    send("twice")
    assert "twice/score/test/ell1" in store.runs(), "what is still true stays"


def test_a_growing_history_is_sent_line_by_line_and_a_changed_one_anew(folder, store) -> None:
    place = make_run(folder / "results", "grows", [3.0])
    (place / "best.json").unlink()  # as while it trains
    history = place / "checkpoints" / "history.jsonl"

    def sent(text: str) -> str:
        write_text(history, text)
        return training.send_training(store.tracker, place, {}).id

    lines = [jsonl(valid(10, 3.0)), jsonl(valid(20, 2.5)), jsonl(valid(30, 2.0))]
    first = sent(lines[0] + lines[1][:20])
    assert store.curve("grows", "valid/loss") == [(10, 3.0)], "half a line is left for later"
    assert sent("".join(lines)) == first
    assert sent(lines[0]) == first, "resumed, it will write the rest again"
    assert sent("".join(lines)) == first
    assert store.curve("grows", "valid/loss") == [(10, 3.0), (20, 2.5), (30, 2.0)]
    assert sent(jsonl(valid(10, 9.0))) != first, "trained on other data"
    assert store.curve("grows", "valid/loss") == [(10, 9.0)]


def test_what_clock_and_machine_said_is_sent_once_and_half_a_line_is_left_for_later(folder, store) -> None:
    place = make_run(folder / "results", "fast", [3.0])
    line = '{"step": %d, "tokens_per_second": %d, "data": 0.5}\n'
    write_text(place / "checkpoints/speed.jsonl", line % (10, 100) + line[:20])
    system = [{"time": 1e9 + number, "cpu_utilization_percentage": 50.0 + number} for number in (0, 30)]
    write_text(place / "checkpoints/system.jsonl", jsonl(system[0]))
    send("fast")
    write_text(place / "checkpoints/speed.jsonl", line % (10, 100) + "rubbish\n" + line % (20, 200))
    write_text(place / "checkpoints/system.jsonl", jsonl(*system))
    for _ in range(2):
        send("fast")
    assert store.curve("fast", "speed/tokens_per_second") == [(10, 100.0), (20, 200.0)]
    assert store.curve("fast", "speed/data") == [(10, 0.5), (20, 0.5)]
    assert store.curve("fast", "system/cpu_utilization_percentage") == [(0, 50.0), (30, 80.0)]


def test_a_rerun_takes_the_place_of_what_was_there(folder, store) -> None:
    place = make_run(folder / "results", "changes", [3.0])
    send("changes")
    before = store.ids()
    make_score(place, "ell5", 30.0)
    send("changes")
    after = store.runs()
    assert after.keys() == before.keys()
    assert after["changes/score/test/ell5"].data.metrics == {"test/bleu": 30.0}
    assert after["changes"].data.metrics["test/bleu"] == after["toy"].data.metrics["test/bleu/changes"] == 30.0
    kept = ("toy", "changes", "changes/tune")
    assert {name: store.ids()[name] for name in kept} == {name: before[name] for name in kept}
    config = run_files.config_of(place)
    write_yaml(place / "config.yaml", {**config, "train": {"peak_lr": 0.002}})
    send("changes")
    runs = store.runs()
    assert runs.keys() == before.keys(), "one for each stage, and no stray one"
    assert runs["changes"].data.params["train.peak_lr"] == runs["changes/tune"].data.params["train.peak_lr"] == "0.002"
    assert runs["toy"].info.run_id == before["toy"]
    write_yaml(place / "decode.yaml", {"run": "changes", "num_length_candidates": 4, "length_multipliers": [1.0]})
    make_score(place, "ell4", 31.0)
    send("changes")
    assert store.ids().keys() == before.keys() - {"changes/score/test/ell5"} | {"changes/score/test/ell4"}


def test_several_of_one_stage_that_were_made_at_once_become_one(folder, store) -> None:
    make_run(folder / "results", "race", [3.0])
    send("race")
    first = store.runs()["race"]
    tags = {key: value for key, value in first.data.tags.items() if key.startswith("axenat.")}
    later = first.info.start_time + 1
    store.client.create_run(store.tracker.experiment_id, start_time=later, tags=tags, run_name="race")
    send("race")
    assert store.ids()["race"] == first.info.run_id


def test_a_training_that_was_broken_off_is_told_and_shown_as_such(folder, store) -> None:
    place = make_run(folder / "results", "stopped", [3.0, 2.0])
    (place / "best.json").unlink()
    (place / "checkpoints").mkdir()
    (place / "history.jsonl").rename(place / "checkpoints/history.jsonl")
    send("stopped")
    assert store.runs()["stopped"].info.status == "KILLED"
    assert store.curve("stopped", "valid/loss") == [(10, 3.0), (20, 2.0)]
    write_text(place / "history.jsonl", (place / "checkpoints/history.jsonl").read_text())
    write_json(place / "best.json", {"checkpoints": []})
    send("stopped")
    assert store.runs()["stopped"].info.status == "FINISHED"


def test_a_study_shows_whether_its_workflow_has_failed(folder, store) -> None:
    """Until all of it is there; who sends once more does not know, and changes nothing."""
    make_run(folder / "results", "one", [3.0])
    score = make_run(folder / "results", "two", [3.0]) / "test/ell5.score.json"
    score.rename(score.with_suffix(".away"))
    shown = []
    for flags in ((), ("--failed",), ()):
        send("one", "two", study="pair", flags=flags)
        shown.append(store.runs()["pair"].info.status)
    score.with_suffix(".away").rename(score)
    send("one", "two", study="pair")
    assert [*shown, store.runs()["pair"].info.status] == ["RUNNING", "FAILED", "FAILED", "FINISHED"]


def test_a_run_that_dvc_restored_without_its_provenance_is_sent_too(folder, store) -> None:
    place = make_run(folder / "results", "restored", [3.0])
    (place / "provenance.json").unlink()
    send("restored")
    train = store.runs()["restored"]
    assert "mlflow.source.git.commit" not in train.data.tags
    assert train.data.tags["corpus"] == "demo" and train.info.status == "FINISHED"


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (
            "history.jsonl",
            jsonl(valid(10, 3.0)) + '{"kind": "valid", "st\n',
            r"history\.jsonl, line 2: not a line of a",
        ),
        ("history.jsonl", "17\n", r"history\.jsonl, line 1: not a line of a history"),
        ("history.jsonl", "", r"history\.jsonl: empty"),
        ("tuned.json", '{"key": "k", "value": 1, "candidates": [3]}', r"tuned\.json: candidates must be there"),
        ("test/ell5.score.json", "{}", r"ell5\.score\.json: split is missing"),
        ("config.yaml", "run: x", r"config\.yaml: corpus is missing"),
    ],
)
def test_a_damaged_file_is_one_sentence_and_the_other_runs_are_sent(folder, store, file, text, words) -> None:
    place = make_run(folder / "results", "damaged", [3.0])
    (place / file).write_text(text)
    make_run(folder / "results", "sound", [5.0])
    with pytest.raises(UserError, match=words) as caught:
        send("damaged", "sound")
    assert "\n" not in str(caught.value) and str(caught.value).endswith("; 1 other runs were sent")
    assert store.runs()["sound"].info.status == "FINISHED"
    assert "damaged" not in store.runs(), "nothing half sent"


@pytest.mark.parametrize("text", ["outs: []", "outs: 7", "outs:\n- path: data", "17"])
def test_data_dvc_without_a_sum_is_one_sentence(folder, tmp_path, text) -> None:
    write_text(tmp_path / "data.dvc", text)
    with pytest.raises(UserError, match=r"data\.dvc: (outs has no md5|expected keys)"):
        send("axe", "--data", str(tmp_path / "data.dvc"))


def test_a_configuration_file_names_study_runs_and_decodings(folder, store, capsys) -> None:
    run = {"corpus": "demo", "objective": {"name": "masked"}}
    corpus = {"source_language": "en", "target_language": "de", "folder": "text"}
    write_yaml(folder / "mine.yaml", {"study": "mine", "corpora": {"demo": corpus}, "runs": {"axe": run}})
    parser = publish.argparse.ArgumentParser()
    publish.add_arguments(parser)
    publish.main(parser.parse_args(["--config", "mine.yaml"]))
    assert "published 1 runs of study mine" in capsys.readouterr().out
    assert {"mine", "axe"} <= store.ids().keys()
