"""Masks and dropout of a micro-batch hang on the seed, the step and its number alone."""

import dataclasses
from itertools import combinations

import pytest
import torch

from axenat.data.batches import collate
from axenat.train import loop
from axenat.train.checkpoint import TrainState
from axenat.train.forward import ScoredModel, seeded, validation_loss
from axenat.train.optimizer import optimizer_of
from axenat.train.ranks import ALONE, Ranks
from axenat.train.setting import Setting
from axenat.train.steps import Update
from axenat.train.stopwatch import Stopwatch
from tests.train.test_loop import CPU, setting

SENTENCES = range(20)
MASKED = ("masked", "axe")


class Lonely(Ranks):
    """A rank whose neighbours are tested elsewhere."""

    def add_(self, sums: torch.Tensor) -> torch.Tensor:
        return sums


def spied(one: Setting) -> list[tuple[torch.Tensor, int, int]]:
    """What each call of the objective's canvas hides, the seed of dropout at that moment, and that of the masks."""
    seen, canvas = [], one.objective.canvas

    def spy(batch, rng):
        made = canvas(batch, rng)
        seen.append((made.observed, torch.initial_seed(), rng.initial_seed()))
        return made

    one.objective.canvas = spy
    return seen


def draws(tmp_path, name: str, step: int = 1, numbers=(0,), seed: int = 1, ranks: Ranks = ALONE) -> list:
    """Of one update, whose micro-batches all hold the same sentences."""
    one = setting(tmp_path, name, ranks=ranks)
    one = dataclasses.replace(one, run=dataclasses.replace(one.run, seed=seed))
    seen = spied(one)
    optimizer = optimizer_of(one.run.train, one.model.parameters(), torch.float32)
    engine = loop.Engine(one, "mark", ScoredModel(one.model, one.objective), optimizer, torch.float32, Stopwatch(CPU))
    batches = [collate(one.train, list(SENTENCES)) for _ in numbers]
    place = Update([SENTENCES] * (max(numbers) + 1), list(numbers), batches, False)
    loop.update(engine, TrainState(step=step - 1), place)
    return seen


def same(one: tuple[torch.Tensor, int, int], two: tuple[torch.Tensor, int, int]) -> tuple[bool, bool]:
    """The masks, the dropout."""
    return torch.equal(one[0], two[0]), one[1] == two[1]


@pytest.mark.parametrize("name", MASKED)
def test_a_step_that_is_repeated_draws_the_same_and_any_other_step_draws_something_else(tmp_path, name) -> None:
    first, again, second, other_seed = (
        draws(tmp_path, name, **where)[0] for where in ({"step": 4}, {"step": 4}, {"step": 5}, {"step": 4, "seed": 2})
    )
    assert same(first, again) == (True, True)
    for one, two in combinations((first, second, other_seed), 2):
        assert same(one, two) == (False, False)


@pytest.mark.parametrize("name", MASKED)
def test_every_micro_batch_of_a_step_draws_its_own(tmp_path, name) -> None:
    for one, two in combinations(draws(tmp_path, name, numbers=(0, 1, 2)), 2):
        assert same(one, two) == (False, False)


def test_a_micro_batch_draws_the_same_whichever_rank_takes_it(tmp_path) -> None:
    alone = draws(tmp_path, "axe", numbers=(0, 1, 2, 3))
    for rank, world in ((0, 2), (1, 2), (2, 4)):
        ranks = Lonely(rank, world)
        mine = ranks.mine(range(4))
        for number, drawn in zip(mine, draws(tmp_path, "axe", numbers=mine, ranks=ranks), strict=True):
            assert same(alone[number], drawn) == (True, True)


def random_numbers(*place: int) -> tuple[float, ...]:
    """What dropout would draw at a place, and what masks would."""
    rng = seeded(CPU, *place)
    return torch.rand(4).tolist(), torch.rand(4, generator=rng).tolist()


def test_seed_step_and_number_each_matter_as_does_their_order() -> None:
    places = [(5, 2, 3), (6, 2, 3), (5, 7, 3), (5, 2, 9), (2, 5, 3), (5, 3, 2), (5, 2, 0), (5, 0, 2)]
    drawn = [numbers for place in places for numbers in random_numbers(*place)]
    assert all(one != two for one, two in combinations(drawn, 2)), "nor do masks follow dropout"
    torch.manual_seed(99)
    assert random_numbers(5, 2, 3) == random_numbers(5, 2, 3)


def test_a_training_draws_by_its_seed_its_step_and_the_number_of_each_micro_batch(tmp_path, monkeypatch) -> None:
    """Also after the first epoch, and after validations."""
    one = setting(tmp_path, seed=7, train={"steps": 11, "validate_every": 3})
    places, steps = [], []
    seed_of, update = loop.seeded, loop.update
    monkeypatch.setattr(loop, "seeded", lambda device, *place: places.append(place) or seed_of(device, *place))
    monkeypatch.setattr(loop, "update", lambda *words, **more: steps.append(words[2]) or update(*words, **more))
    loop.train(one, "mark")
    assert {len(step.batches) for step in steps} >= {1, 2}, "some steps have fewer micro-batches than others"
    expected = [(7, at, number) for at, step in enumerate(steps, start=1) for number in range(len(step.batches))]
    assert places == expected


@pytest.mark.parametrize("name", MASKED)
def test_every_validation_hides_the_same_tokens_and_each_batch_its_own(tmp_path, name) -> None:
    one = setting(tmp_path, name, train={"tokens_per_batch": 16})
    seen = spied(one)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    validation_loss(one)
    middle = len(seen)
    assert torch.equal(torch.get_rng_state(), before), "the random numbers of the training are not touched"
    torch.manual_seed(4)
    validation_loss(one)
    for first, second in zip(seen[:middle], seen[middle:], strict=True):
        assert torch.equal(first[0], second[0])
    seeds = [seed for *_, seed in seen[:middle]]
    assert len(set(seeds)) == len(seeds) > 1


@pytest.mark.parametrize("world", [2, 3])
def test_ranks_validate_each_batch_with_the_masks_that_one_process_draws_for_it(tmp_path, world) -> None:
    sections = {"train": {"tokens_per_batch": 16}}
    one = setting(tmp_path, **sections)
    alone = spied(one)
    validation_loss(one)
    for rank in range(world):
        shared = setting(tmp_path, ranks=Lonely(rank, world), **sections)
        seen = spied(shared)
        validation_loss(shared)
        expected = alone[rank::world]
        assert all(torch.equal(a[0], b[0]) for a, b in zip(seen, expected, strict=True))
