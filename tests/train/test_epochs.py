"""Every epoch has the same sentences in another order, that of the plan of its number."""

from itertools import accumulate, chain

from axenat.train import loop
from axenat.train.checkpoint import TrainState
from axenat.train.loop import train
from axenat.train.setting import Setting
from axenat.train.steps import Update, steps_from
from tests.reference.batches import whole_plan
from tests.train.test_loop import history, setting

TRAIN = {"tokens_per_step": 64, "tokens_per_batch": 32}


def plan_of(one: Setting, epoch: int) -> list[list[int]]:
    lengths = list(one.train.source_lengths), list(one.train.target_lengths)
    return whole_plan(*lengths, 32, seed=one.run.seed, epoch=epoch)


def batches(steps: list[Update]) -> list[list[int]]:
    return [batch.index.tolist() for step in steps for batch in step.batches]


def trained_on(one: Setting, monkeypatch) -> list[list[Update]]:
    """The steps of each epoch of a training."""
    epochs, update = [[]], loop.update

    def spy(engine, state, step, **more):
        epochs[-1].append(step)
        if step.ends_epoch:
            epochs.append([])
        return update(engine, state, step, **more)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "update", spy)
        train(one, "mark")
    return epochs


def test_every_epoch_of_a_training_is_the_plan_of_its_number(tmp_path, monkeypatch) -> None:
    one = setting(tmp_path, seed=3, train={**TRAIN, "steps": 20})
    epochs = trained_on(one, monkeypatch)
    whole = [batches(steps) for steps in epochs[:3]]
    assert whole == [plan_of(one, epoch) for epoch in range(3)]
    assert len({str(epoch) for epoch in whole}) == 3, "each in another order"
    assert all(sorted(chain(*epoch)) == list(range(len(one.train))) for epoch in whole)
    ends = [line["step"] for line in history(one) if line["kind"] == "valid"]
    assert ends[:3] == list(accumulate(map(len, epochs)))[:3], "validated after each"
    assert [line["epoch"] for line in history(one) if line["kind"] == "valid"][:3] == [1, 2, 3]


def test_the_steps_go_on_in_the_middle_of_an_epoch_and_know_its_end(tmp_path) -> None:
    one = setting(tmp_path, seed=3, train=TRAIN)
    for position in (2, 4):
        state, steps = TrainState(epoch=1, position=position, budget=32), []
        for step in steps_from(one, state):
            steps.append(step)
            if step.ends_epoch:
                break
        assert batches(steps) == plan_of(one, epoch=1)[position:]
        assert [step.ends_epoch for step in steps] == [False] * (len(steps) - 1) + [True]


def test_another_seed_has_other_orders(tmp_path) -> None:
    plans = [plan_of(setting(tmp_path, seed=seed, train=TRAIN), epoch=0) for seed in (3, 4)]
    found = [batches([next(steps_from(setting(tmp_path, seed=seed, train=TRAIN), TrainState()))]) for seed in (3, 4)]
    assert found == [plan[:2] for plan in plans] and found[0] != found[1]
