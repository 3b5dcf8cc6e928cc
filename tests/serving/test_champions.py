"""What is registered is the run itself, under its own numbers, and the champion is the best on valid of its corpus."""

import hashlib
import json
from pathlib import Path

import pytest

from axenat.files import read_json, read_yaml, write_json
from axenat.layout import MODEL_FILES
from axenat.tracking import Tracker, tracking_uri
from tests.support.registry import (
    COMMIT,
    NAME,
    VALUE,
    champion,
    load_champion,
    make_run,
    make_text,
    send,
    translated,
    versions,
)

LINES = ["the old man buys a red car .", "", "a car", "The woman sees today."]
FIRST = Path("results/runs/first.5")


def sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def test_the_tags_of_a_version_are_the_numbers_of_its_run(folder) -> None:
    number, tags = champion()
    tuned, config = (read_json(FIRST / "tuned.json"), read_yaml(FIRST / "config.yaml"))
    texts = [Path(f"data/toy/{name}").read_bytes() for name in ("valid.en", "valid.de", "valid.ref1.de")]
    fingerprint = tags.pop("fingerprint")
    assert number == 1 and len(fingerprint) == 64
    assert tags == {
        "run": "first.5",
        "corpus": config["corpus"],
        "objective": config["objective"]["name"],
        "target_side": config["target_side"],
        "length_multiplier": str(VALUE),
        "valid_bleu": str(tuned["bleu"]),
        "bleu_signature": tuned["signature"],
        "valid_sha256": sha256("\n".join(map(sha256, texts)).encode()),
        "model_sha256": sha256((FIRST / "model.safetensors").read_bytes()),
        "commit": COMMIT,
        "dirty": "False",
        "data_version": read_yaml("data.dvc")["outs"][0]["md5"],
    }


def test_the_files_of_a_version_are_byte_for_byte_those_of_the_run(folder) -> None:
    client = Tracker(tracking_uri()).client
    version = client.get_model_version_by_alias(NAME, "champion")
    model = client.get_logged_model(version.source.removeprefix("models:/"))
    artifacts = Path(model.artifact_location.removeprefix("file://")) / "artifacts"
    names = (*MODEL_FILES, "tuned.json")
    assert {path.name for path in artifacts.iterdir()} == set(names)
    for name in names:
        assert (artifacts / name).read_bytes() == (FIRST / name).read_bytes(), name


def test_a_served_model_answers_as_translate_does_with_the_tuned_value_of_the_run(folder) -> None:
    loaded = load_champion()
    assert loaded.metadata.signature.inputs.to_dict() == [{"type": "string", "required": True}]
    assert loaded.metadata.signature.outputs.to_dict() == [{"type": "string", "required": True}]
    assert list(loaded.input_example) == ["a car", "the old man"], "of valid"
    with_value = translated(FIRST, LINES)
    assert loaded.predict(LINES) == with_value
    write_json(FIRST / "tuned.json", read_json(FIRST / "tuned.json") | {"value": 1.0})
    assert translated(FIRST, LINES) != with_value, "or the value would not matter here"


def test_limits_of_a_request_can_be_set_when_a_model_is_loaded(folder) -> None:
    import mlflow

    small = load_champion(model_config={"most_lines": 2})
    with pytest.raises(mlflow.MlflowException, match=r"^3 lines, but a request may have 2; send several requests$"):
        small.predict(LINES[:3])


def test_the_champion_is_the_best_on_valid_whatever_test_says_and_whenever_it_came(folder, capsys) -> None:
    for run in ("better", "equal", "worse"):
        send(capsys, run)
    on_valid, on_test = (
        {run: read_json(f"results/runs/{run}/{name}")["bleu"] for run in versions()}
        for name in ("tuned.json", "test/ell5.score.json")
    )
    assert champion()[1]["run"] == max(on_valid, key=on_valid.__getitem__) == min(on_test, key=on_test.__getitem__)
    assert versions()["better"] < max(versions().values()), "it is neither the first nor the latest"
    assert champion()[1]["model_sha256"] == sha256(Path("results/runs/better/model.safetensors").read_bytes())


def test_among_equals_the_older_one_stays_champion(folder, capsys) -> None:
    (said,) = send(capsys, "equal")
    assert said.endswith("not the champion, since version 1 (first.5, valid BLEU 20.00) is as good, and older")
    assert champion()[1]["run"] == "first.5"


def test_each_corpus_has_a_champion_that_no_other_corpus_can_take(folder, capsys, monkeypatch) -> None:
    from axenat.stages import register

    make_text("other")
    make_run("elsewhere", 70.0, seed=8, corpus="other")
    monkeypatch.setattr(register, "why_unpinned", lambda place: "")
    send(capsys, "elsewhere", "worse")
    assert champion()[1]["run"] == "first.5"
    assert champion("axenat-other")[1]["run"] == "elsewhere"
    assert champion("axenat-other")[1]["corpus"] == "other"


def test_a_model_of_which_any_file_changed_is_another_version(folder, capsys) -> None:
    """The same weights with another length multiplier translate otherwise."""
    for number, name in enumerate(("tuned.json", "decode.yaml", "vocab.target"), start=2):
        path, text = FIRST / name, (FIRST / name).read_text()
        path.write_text(json.dumps(json.loads(text) | {"value": 1.2}) if name == "tuned.json" else f"{text}\n")
        send(capsys, "first.5")
        found = Tracker(tracking_uri()).client.search_model_versions(f"name = '{NAME}'")
        assert len(found) == number, name


def test_a_version_belongs_to_the_run_in_mlflow_of_its_own_training(folder, capsys) -> None:
    """Not to its tuning, and not to a run of that name in another folder."""
    tracker, place = Tracker(tracking_uri()), Path("results/runs/better")
    made = {}
    for where, stage in ((Path("elsewhere/better"), "train"), (place, "train"), (place, "tune")):
        made[where, stage] = tracker.run(where, stage, "better", "any")
        tracker.log(made[where, stage], tags={"run": "better"})
    send(capsys, "better")
    found = {item.tags["run"]: item.run_id for item in tracker.client.search_model_versions(f"name = '{NAME}'")}
    assert found == {"first.5": None, "better": made[place, "train"].id}
