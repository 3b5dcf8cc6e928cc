"""Training learns, can be killed anywhere, and ends bit for bit where it would have ended."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from axenat.data.batches import collate
from axenat.data.corpus import ParallelCorpus
from axenat.data.corpus_writer import write_corpus
from axenat.files import UserError, read_lines, sha256_of
from axenat.model.transformer import Transformer
from axenat.objectives.registry import objective_of
from axenat.systems.registry import SYSTEMS
from axenat.train import loop
from axenat.train.checkpoint import TrainState, forget_states
from axenat.train.forward import ScoredModel, validation_loss
from axenat.train.loop import train
from axenat.train.optimizer import optimizer_of
from axenat.train.ranks import ALONE, Ranks
from axenat.train.setting import Setting, check_positions, fingerprint
from axenat.train.steps import Update, steps_from
from axenat.train.stopwatch import Stopwatch
from tests import tiny

CPU = torch.device("cpu")


class Killed(BaseException):
    """What a scheduler does to a job."""


def setting(
    tmp_path: Path, name: str = "axe", folder: str = "checkpoints", ranks: Ranks = ALONE, **sections
) -> Setting:
    run = tiny.run_config(name, **sections)
    for split, size, seed in (("train", 40, 1), ("valid", 12, 2)):
        if not (tmp_path / f"{split}.safetensors").exists():
            tiny.copy_corpus(tmp_path / f"{split}.safetensors", size, seed)
    corpora = [ParallelCorpus(tmp_path / f"{split}.safetensors") for split in ("train", "valid")]
    objective = objective_of(run.objective)
    torch.manual_seed(run.seed)
    model = Transformer(run.model, 10, 10, joint=True, predicts_length=objective.predicts_length)
    return Setting(run, model, objective, *corpora, tmp_path / folder, CPU, ranks)


def history(one: Setting) -> list[dict]:
    return [json.loads(line) for line in read_lines(one.history)]


def outcome(one: Setting, state: TrainState) -> dict:
    """All that a training leaves behind."""
    files = {path.name: sha256_of(path) for path in one.folder.glob("step-*.safetensors")}
    weights = [parameter.detach().clone() for parameter in one.model.parameters()]
    return {"history": one.history.read_bytes(), "best": state.best, "files": files, "weights": weights}


def same(one: dict, two: dict) -> bool:
    equal = all(torch.equal(a, b) for a, b in zip(one["weights"], two["weights"], strict=True))
    return equal and all(one[key] == two[key] for key in ("history", "best", "files"))


def kill_at(monkeypatch, name: str, call: int) -> None:
    """The given call of a function of the loop is never made."""
    original, calls = getattr(loop, name), 0

    def deadly(*arguments, **named):
        nonlocal calls
        calls += 1
        if calls == call:
            raise Killed
        return original(*arguments, **named)

    monkeypatch.setattr(loop, name, deadly)


@pytest.fixture(scope="module", params=[0, 3], ids=["each epoch", "every 3 steps"])
def uninterrupted(request, tmp_path_factory):
    """The settings of a training and all that it leaves when nobody disturbs it."""
    sections = {
        "train": {"validate_every": request.param, "log_every": 2, "keep_best": 2},
        "model": {"dropout": 0.2},
    }
    whole = setting(tmp_path_factory.mktemp("whole"), **sections)
    return sections, outcome(whole, train(whole, "mark"))


@pytest.mark.parametrize(
    ("function", "call"),
    [("update", 2), ("update", 5), ("update", 12), ("keep_if_best", 2), ("save_state", 1), ("save_state", 2)],
)
def test_an_interrupted_training_ends_like_an_uninterrupted_one(tmp_path, monkeypatch, uninterrupted, function, call):
    sections, expected = uninterrupted
    first = setting(tmp_path, **sections)
    with monkeypatch.context() as patch:
        kill_at(patch, function, call)
        with pytest.raises(Killed):
            train(first, "mark")
    second = setting(tmp_path, **sections)
    if list(second.folder.glob("state-*.safetensors")):
        with torch.no_grad():  # whatever the new process starts with, the state counts
            for parameter in second.model.parameters():
                parameter.zero_()
    assert same(outcome(second, train(second, "mark")), expected)
    assert [line["step"] for line in history(second) if line["kind"] == "train"] == [2, 4, 6, 8, 10, 12]


def test_another_mark_starts_anew(tmp_path, monkeypatch) -> None:
    sections = {"train": {"validate_every": 3}}
    first = setting(tmp_path, **sections)
    with monkeypatch.context() as patch:
        kill_at(patch, "update", 8)
        with pytest.raises(Killed):
            train(first, "old")
    changed = {"train": {"validate_every": 3, "peak_lr": 0.02}}
    second, fresh = setting(tmp_path, **changed), setting(tmp_path, folder="fresh", **changed)
    assert same(outcome(second, train(second, "new")), outcome(fresh, train(fresh, "new")))


def test_a_finished_training_that_has_lost_a_checkpoint_trains_again(tmp_path, caplog) -> None:
    """An average of those that are left would be another model."""
    one, two = setting(tmp_path), setting(tmp_path)
    expected = outcome(one, train(one, "mark"))
    (one.folder / expected["best"][0]["file"]).unlink()
    assert same(outcome(two, train(two, "mark")), expected)
    assert "its checkpoints are not whole: it is trained again" in caplog.text


def test_a_finished_training_can_be_forced_again(tmp_path) -> None:
    one, two = setting(tmp_path), setting(tmp_path)
    expected = outcome(one, train(one, "mark"))
    assert same(outcome(one, train(one, "mark")), expected), "until its results are written, it is kept"
    forget_states(one.folder)
    with torch.no_grad():
        two.model.output_matrix.add_(1.0)
    assert not same(outcome(two, train(two, "mark")), expected), "then it starts from the weights given"


def test_the_fingerprint_is_of_the_configuration_and_all_data_in_order() -> None:
    first = fingerprint({"x": 1, "y": 2}, "train", "valid")
    assert fingerprint({"y": 2, "x": 1}, "train", "valid") == first
    others = (("other", "valid"), ("train", "other"), ("valid", "train"), ("train", "valid", "weights"), ("train",))
    assert len(
        {
            first,
            fingerprint({"x": 1, "y": 3}, "train", "valid"),
            *(fingerprint({"x": 1, "y": 2}, *sums) for sums in others),
        }
    ) == 2 + len(others)


@pytest.mark.parametrize("name", tuple(SYSTEMS))
def test_training_learns_to_copy(tmp_path, name) -> None:
    steps = {"steps": 80, "tokens_per_step": 256, "tokens_per_batch": 256, "peak_lr": 0.02}
    one = setting(tmp_path, name, train={**steps, "validate_every": 40})
    before = validation_loss(one)["loss"]
    train(one, "mark")
    after = [line["loss"] for line in history(one) if line["kind"] == "valid"]
    assert after[0] < before and after[-1] < 0.8 * before


@pytest.mark.parametrize("name", tuple(SYSTEMS))
def test_two_micro_batches_are_one_big_batch(tmp_path, name) -> None:
    """One division by the count of all tokens, not a mean of means."""
    gradients = []
    for groups in ([range(10)], [range(3), range(3, 10)]):
        one = setting(tmp_path, name, objective={"observe": "none"}, train={"clip_norm": 1e6})
        batches = [collate(one.train, list(indices)) for indices in groups]
        optimizer = optimizer_of(one.run.train, one.model.parameters(), torch.float32)
        engine = loop.Engine(
            one, "mark", ScoredModel(one.model, one.objective), optimizer, torch.float32, Stopwatch(CPU)
        )
        loop.update(engine, TrainState(), Update(groups, list(range(len(groups))), batches, False))
        gradients.append([parameter.grad for parameter in one.model.parameters()])
    for big, small in zip(*gradients, strict=True):
        torch.testing.assert_close(small, big, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", tuple(SYSTEMS))
def test_validation_does_not_depend_on_when_it_is_called_and_does_not_disturb(tmp_path, name) -> None:
    one = setting(tmp_path, name, model={"dropout": 0.3})
    first = validation_loss(one)
    one.model.train()
    torch.manual_seed(99)
    torch.rand(7)
    assert validation_loss(one) == first
    more, fewer = (setting(tmp_path, name, f"every{n}", train={"validate_every": n}) for n in (2, 12))
    train(more, "mark")
    train(fewer, "mark")
    assert all(torch.equal(a, b) for a, b in zip(more.model.parameters(), fewer.model.parameters(), strict=True))


def test_validation_weighs_every_token_alike(tmp_path) -> None:
    """The loss of valid is the same however it is cut into batches."""
    losses = []
    for tokens in (16, 200):
        one = setting(
            tmp_path, objective={"observe": "none"}, train={"tokens_per_batch": tokens, "tokens_per_step": 200}
        )
        losses.append(validation_loss(one))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_history_tells_of_every_step_and_validation(tmp_path) -> None:
    one = setting(tmp_path, train={"validate_every": 5, "log_every": 4, "steps": 11})
    state = train(one, "mark")
    lines = history(one)
    steps = {kind: [line["step"] for line in lines if line["kind"] == kind] for kind in ("train", "valid")}
    assert steps == {"train": [4, 8, 11], "valid": [5, 10, 11]}
    for line in lines:
        assert line["loss"] == pytest.approx(line["token_loss"] + line["length_loss"])
        assert 0 <= line["skip_target_rate"] <= 1 and 0 <= line["skip_prediction_rate"] <= 1
    losses = {line["step"]: line["loss"] for line in lines if line["kind"] == "valid"}
    assert [(entry["step"], entry["loss"]) for entry in state.best] == sorted(losses.items(), key=lambda item: item[1])


def test_every_sentence_of_an_epoch_is_used_once(tmp_path) -> None:
    one = setting(tmp_path)
    seen = []
    for step in steps_from(one, TrainState()):
        seen += [int(i) for batch in step.batches for i in batch.index]
        if step.ends_epoch:
            break
    assert sorted(seen) == list(range(len(one.train)))


def test_the_seed_decides_the_training(tmp_path) -> None:
    weights = []
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        one = setting(tmp_path, folder=folder)
        one = dataclasses.replace(one, run=dataclasses.replace(one.run, seed=seed))
        train(one, "mark")
        weights.append(torch.cat([parameter.flatten() for parameter in one.model.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("split", ["train", "valid"])
@pytest.mark.parametrize(
    ("source", "target", "multiplier", "said"),
    [(12, 1, 1.0, "13 tokens, "), (1, 12, 1.0, "13 tokens, "), (1, 6, 1.8, "7 tokens with 13 predictions, ")],
)
def test_sentences_beyond_the_models_positions_are_refused_before_training(
    tmp_path, split, source, target, multiplier, said
) -> None:
    """With <eos>; one of as many tokens as positions is fine."""
    sections = {"objective": {"observe": "none", "train_length_multiplier": multiplier}}
    for other in ("train", "valid"):
        write_corpus(tmp_path / f"{other}.safetensors", [[6]], [[6]], metadata={})
    path = tmp_path / f"{split}.safetensors"
    for more, fits in ((0, False), (-1, True)):
        write_corpus(path, [[6] * max(1, source + more)], [[6] * max(1, target + more)], metadata={})
        one = setting(tmp_path, **sections)
        if fits:
            check_positions(one)
        else:
            with pytest.raises(UserError, match=rf"{split}\.safetensors holds a sentence of {said}.*positions is 12"):
                train(one, "mark")
