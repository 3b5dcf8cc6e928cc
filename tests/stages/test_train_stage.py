"""What `axenat train` writes comes from the file that it says, and from all that it was given."""

import json
import shutil
from functools import partial

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from axenat.data.corpus import ParallelCorpus
from axenat.files import read_json, read_lines, sha256_of
from axenat.stages import average
from tests.reference.losses import axe_loss, left_to_right_loss, loss_of_file, masked_loss
from tests.support.house import DELTA, GRAMMAR, KEEP_BEST, OBJECTIVE, OBJECTIVES, run
from tests.support.toys import model_of

ALL_AT_ONCE = {"tokens_per_batch": 400, "tokens_per_step": 40_000, "log_every": 1}
SLOWLY = {
    "teacher": left_to_right_loss,
    "ce": masked_loss,
    "axe": partial(axe_loss, multiplier=OBJECTIVE["axe"]["train_length_multiplier"], delta=DELTA),
}
# Nothing is drawn: every mask is there, and no share of the probability is spread.
PLAIN = {"label_smoothing": 0.0, "observe": "none"}


def history(folder, kind: str) -> list[dict]:
    lines = [json.loads(line) for line in read_lines(folder / "history.jsonl")]
    return [line for line in lines if line["kind"] == kind]


def weights(folder) -> dict[int, dict[str, np.ndarray]]:
    """Of each checkpoint that is kept, by its step."""
    best = read_json(folder / "best.json")["checkpoints"]
    return {entry["step"]: load_file(folder / "checkpoints" / entry["file"]) for entry in best}


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return first.keys() == second.keys() and all((first[name] == second[name]).all() for name in first)


def near(first: dict[str, np.ndarray], second: dict[str, np.ndarray], by: float) -> bool:
    return all(np.abs(first[name] - second[name]).max() <= by for name in first)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_first_losses_are_those_of_a_slow_loop_over_the_files_of_train_and_valid(house, tmp_path, name) -> None:
    """One step over the whole of train: its loss is that of the weights it starts from, whose file is known."""
    start, plain = house.runs[name] / "model.safetensors", PLAIN if name != "teacher" else {"label_smoothing": 0.0}
    house.write_config(tmp_path, name, start=name, steps=1, validate_every=1, objective=plain, **ALL_AT_ONCE)
    house.train(tmp_path, start_from=start)
    (trained,), (valid,) = history(tmp_path, "train"), history(tmp_path, "valid")
    shutil.copytree(house.subwords, tmp_path, dirs_exist_ok=True)
    (entry,) = read_json(tmp_path / "best.json")["checkpoints"]
    lines = {
        "train": (trained, start),
        "valid": (valid, tmp_path / "checkpoints" / entry["file"]),
    }
    for split, (line, path) in lines.items():
        ids = ParallelCorpus(house.ids(split))
        assert len(ids) == GRAMMAR[split]
        slow = loss_of_file(ids, partial(SLOWLY[name], model_of(tmp_path, weights=path)))
        assert line["loss"] == pytest.approx(slow, rel=1e-5)
    assert entry["loss"] == valid["loss"]


@pytest.fixture(scope="module")
def short(house, tmp_path_factory):
    """A training of two steps, each of which is validated."""
    folder = tmp_path_factory.mktemp("short")
    house.write_config(folder, "ce", steps=2, validate_every=1)
    house.train(folder)
    return folder


def again(short, tmp_path):
    """The same training in a folder that may be changed."""
    shutil.copytree(short, tmp_path / "run")
    return tmp_path / "run"


def test_another_valid_file_changes_the_lines_of_valid_alone(house, short, tmp_path) -> None:
    shutil.copy(short / "config.yaml", tmp_path)
    house.train(tmp_path, valid=house.ids("test"))
    assert history(tmp_path, "train") == history(short, "train")
    pairs = zip(history(tmp_path, "valid"), history(short, "valid"), strict=True)
    assert all(other["loss"] != one["loss"] for other, one in pairs)
    there, here = weights(tmp_path), weights(short)
    assert there.keys() == here.keys() == {1, 2}
    assert all(same(there[step], here[step]) for step in here)


def test_another_train_file_changes_what_is_learnt(house, short, tmp_path) -> None:
    """That of distilled targets has the same sources."""
    shutil.copy(short / "config.yaml", tmp_path)
    house.train(tmp_path, train=house.ids("distilled"))
    assert history(tmp_path, "train")[0]["loss"] != history(short, "train")[0]["loss"]
    assert not any(same(weights(tmp_path)[step], weights(short)[step]) for step in (1, 2))


def test_a_finished_training_is_left_alone_by_the_same_command(house, short, tmp_path) -> None:
    folder = again(short, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    house.train(folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize(("split", "other"), [("valid", "test"), ("train", "distilled")])
def test_changed_ids_train_once_more_and_give_what_a_new_training_gives(house, short, tmp_path, split, other) -> None:
    """The file has the name that it had: only what is in it tells."""
    folder, ids = again(short, tmp_path), tmp_path / "ids.safetensors"
    shutil.copy(house.ids(other), ids)
    house.train(folder, **{split: ids})
    shutil.copy(short / "config.yaml", tmp_path)
    house.train(tmp_path, **{split: ids})
    assert read_json(folder / "best.json") == read_json(tmp_path / "best.json")
    assert read_lines(folder / "history.jsonl") == read_lines(tmp_path / "history.jsonl")
    assert read_lines(folder / "history.jsonl") != read_lines(short / "history.jsonl")


def test_another_configuration_trains_once_more(house, short, tmp_path) -> None:
    folder = again(short, tmp_path)
    house.write_config(folder, "ce", steps=2, validate_every=1, objective={"length_loss_weight": 2.0})
    house.train(folder)
    assert read_json(folder / "best.json")["fingerprint"] != read_json(short / "best.json")["fingerprint"]
    assert history(folder, "train")[0]["loss"] > history(short, "train")[0]["loss"]


def test_other_weights_to_start_from_train_once_more(house, tmp_path) -> None:
    """A step at almost no rate leaves them where they were."""
    start, found = tmp_path / "start.safetensors", []
    house.write_config(tmp_path, "ce", start="other", steps=1, peak_lr=1e-12, validate_every=1)
    for name in ("ce", "axe"):
        shutil.copy(house.runs[name] / "model.safetensors", start)
        house.train(tmp_path, start_from=start)
        (trained,) = weights(tmp_path).values()
        assert near(trained, load_file(start), by=2e-7)
        found.append(trained)
    assert not near(*found, by=1e-3)


def test_the_seed_draws_the_first_weights(house, tmp_path) -> None:
    found = []
    for seed in (5, 5, 6):
        folder = tmp_path / f"{len(found)}"
        house.write_config(folder, "teacher", steps=1, peak_lr=1e-12, validate_every=1, seed=seed)
        house.train(folder)
        found.extend(weights(folder).values())
    assert same(found[0], found[1])
    assert not near(found[0], found[2], by=1e-3)


def test_the_average_is_of_the_checkpoints_in_best_json_and_of_no_stray_one(house, tmp_path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(house.runs["axe"], folder, ignore=shutil.ignore_patterns("model.safetensors"))
    shutil.copy(house.runs["ce"] / "model.safetensors", folder / "checkpoints" / "step-0000010.safetensors")
    run(average, best=folder / "best.json", subwords=house.subwords, out=tmp_path / "out")
    parts = weights(house.runs["axe"])
    assert len(parts) == KEEP_BEST and 10 not in parts
    with safe_open(tmp_path / "out" / "model.safetensors", framework="numpy") as stream:
        origin = json.loads(stream.metadata()["origin"])
    assert origin["steps"] == list(parts)
    assert origin["sha256"] == {path.name: sha256_of(path) for path in house.subwords.iterdir()}
    for name, mean in load_file(tmp_path / "out" / "model.safetensors").items():
        expected = np.mean([part[name].astype(np.float64) for part in parts.values()], axis=0)
        np.testing.assert_allclose(mean, expected, rtol=1e-6, atol=1e-8)


def test_a_training_that_is_averaged_has_no_state_left_to_resume(house, short, tmp_path) -> None:
    folder = again(short, tmp_path)
    assert list(folder.rglob("state-*"))
    run(average, best=folder / "best.json", subwords=house.subwords, out=tmp_path / "out")
    assert not list(folder.rglob("state-*"))


def test_the_average_of_fewer_checkpoints_is_of_these(house, tmp_path) -> None:
    """best.json decides, not the folder, and not an order of names."""
    folder = tmp_path / "run"
    shutil.copytree(house.runs["axe"], folder)
    best = read_json(folder / "best.json")
    first, *_ = best["checkpoints"]
    (folder / "best.json").write_text(json.dumps({**best, "checkpoints": [first]}))
    run(average, best=folder / "best.json", subwords=house.subwords, out=tmp_path / "out")
    assert same(load_file(tmp_path / "out" / "model.safetensors"), load_file(folder / "checkpoints" / first["file"]))


@pytest.mark.parametrize(
    "damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"other")], ids=["lost", "other"]
)
def test_a_finished_training_whose_checkpoints_are_not_whole_trains_again(house, short, tmp_path, damage) -> None:
    """Or train would say that it is done, and average would refuse what it left, for ever."""
    folder = again(short, tmp_path)
    entries = read_json(short / "best.json")["checkpoints"]
    damage(folder / "checkpoints" / entries[-1]["file"])
    house.train(folder)
    assert {entry["file"]: sha256_of(folder / "checkpoints" / entry["file"]) for entry in entries} == {
        entry["file"]: entry["sha256"] for entry in read_json(folder / "best.json")["checkpoints"]
    }
    assert read_json(folder / "best.json") == read_json(short / "best.json")
    run(average, best=folder / "best.json", subwords=house.subwords, out=tmp_path / "out")
