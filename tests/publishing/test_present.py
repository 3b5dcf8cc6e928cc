"""What is told of a run belongs to the training that is there, not to one that was there before."""

from axenat.files import write_json, write_text
from tests.noted import note
from tests.publishing.made import COMMIT, jsonl, make_run, send


def test_scores_of_an_earlier_model_are_not_those_of_a_new_training(folder, store) -> None:
    """A study that failed after a training, or was asked for a training alone."""
    place = make_run(folder / "results", "stale", [3.0])
    for name, *made_from in (("model", "best.json"), ("tuned.json", "model"), ("test/ell5.score.json", "tuned.json")):
        if name == "model":
            write_text(place / name, "weights")
        note(place / name, *(place / source for source in made_from))
    send("stale")
    assert {"stale/tune", "stale/score/test/ell5"} <= store.runs().keys()
    write_json(place / "best.json", {"checkpoints": [], "fingerprint": "other"})
    send("stale")
    runs = store.runs()
    assert "stale" in runs and not {"stale/tune", "stale/score/test/ell5"} & runs.keys()


def test_who_made_another_training_is_not_told_of_this_one(folder, store) -> None:
    """DVC puts back results, and leaves provenance and speed of what was trained there last."""
    place = make_run(folder / "results", "put-back", [3.0])
    write_json(place / "best.json", {"checkpoints": [], "fingerprint": "this"})
    write_json(place / "provenance.json", {"commit": COMMIT, "fingerprint": "another"})
    write_text(place / "checkpoints/speed.jsonl", jsonl({"step": 1, "time": 9.0, "seconds": 1.0, "tokens": 7}))
    send("put-back")
    run = store.runs()["put-back"]
    assert "mlflow.source.git.commit" not in run.data.tags and not [key for key in run.data.metrics if "speed" in key]
    assert "provenance.json" not in store.files("put-back")
    write_json(place / "provenance.json", {"commit": COMMIT, "fingerprint": "this"})
    send("put-back")
    run = store.runs()["put-back"]
    assert run.data.tags["mlflow.source.git.commit"] == COMMIT and run.data.metrics["speed/tokens"] == 7
