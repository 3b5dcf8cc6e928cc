"""Every key of `objective` reaches canvas, loss, decoding and analysis of the objectives that read it, and no other."""

import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch

from axenat.data.batches import Batch
from axenat.decode import engines
from axenat.decode.inspect import describe_alignment, skip_rates
from axenat.decode.translator import Translator
from axenat.files import read_yaml, write_yaml
from axenat.losses import projected
from axenat.objectives.base import Canvas, LossSum
from axenat.objectives.registry import objective_of
from axenat.records import as_plain
from axenat.systems.registry import SYSTEMS, settings_of
from axenat.systems.spec import Settings
from tests import tiny
from tests.support.wiring import Look, keys_of, looks_at_keys, unnoticed

CPU = torch.device("cpu")
WIDE = {"init_std": 3.0}  # predictions so sure of themselves that AXE skips some, and targets too
# Penalties and weights that are no neutral element.
WEIGHTS = {"skip_target_penalty": 1.2, "label_smoothing": 0.2, "length_loss_weight": 0.7}
SOURCES = ["the old man buys a car .", "a woman sees .", "today the red car .", "old woman"]
TARGETS = ["der alte Mann kauft Auto .", "die Frau sieht .", "heute das rotes Auto", "alte Frau"]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


def random_batch() -> Batch:
    rng = torch.Generator().manual_seed(3)
    sides = [[torch.randint(6, 10, (n % 8,), generator=rng).tolist() for n in range(24)] for _ in range(2)]
    return tiny.batch([side or [6] for side in sides[0]], sides[1])


BATCH = random_batch()


def scored(config: Settings, batch: Batch = BATCH) -> tuple[list[Canvas], LossSum, Any]:
    """Some canvases, the loss of the last one, and the gradient of what is tied to the output."""
    objective = objective_of(config)
    model = tiny.model(predicts_length=objective.predicts_length, seed=2, **WIDE)
    canvases = [objective.canvas(batch, torch.Generator().manual_seed(seed)) for seed in range(4)]
    canvas = canvases[-1]
    output = model(batch.source, batch.source_lengths, canvas.ids, canvas.lengths, objective.causal)
    loss = objective.score(output, batch, canvas)
    return canvases, loss, model


def numbers(config: Settings) -> Any:
    canvases, loss, model = scored(config)
    loss.total.backward()
    seen = [[tensor.tolist() for tensor in (one.ids, one.lengths, one.observed)] for one in canvases]
    return seen, loss.detached(), (model.target_tokens.weight.grad / float(loss.count)).tolist()


def is_fused(config: Settings) -> bool:
    """Is there an operation of losses/projected.py behind the loss?"""
    own = {f"{name}Backward" for name in vars(projected)}
    nodes, seen = [scored(config)[1].total.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            nodes += [before for before, _ in node.next_functions]
    return bool(own & {type(node).__name__ for node in seen})


def translator(config: Settings) -> Translator:
    """Of a run's folder whose config.yaml says so."""
    with tempfile.TemporaryDirectory() as folder:
        run = tiny.run_folder(Path(folder) / "run", config.name, seed=2, shape=WIDE, engine="torch")
        values = read_yaml(run / "config.yaml")
        write_yaml(run / "config.yaml", {**values, "objective": as_plain(config)})
        return Translator(run, CPU)


def decoded(config: Settings) -> Any:
    """What the search of a masked model is given."""
    made, given = translator(config), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "parallel_decode", lambda passes, *rest, **how: given.append(how) or [[]])
        assert list(made.engine.decode([[6, 7]], 1.0)) == [(0, [])]
    return made.objective.banned, given


def analysed(config: Settings) -> Any:
    made = translator(config)
    described = [describe_alignment(made, *pair) for pair in PAIRS]
    for one in described:
        one.pop("skip_target_penalty")  # repeats its configuration
    return skip_rates(made, SOURCES, TARGETS), described


ALL = {name: frozenset(keys_of(system.settings)) - {"name"} for name, system in SYSTEMS.items()}
# So few predictions that targets must be skipped, from the first column of the table on.
SHORT = {"train_length_multiplier": 0.6}
SHOWN = frozenset({"score", "most_hidden"})  # what is hidden is scored, if nothing is shown: all
PROJECTION = frozenset({"projection"})  # changes the last bits alone
ALIGNED = frozenset({"skip_target_penalty", "first_column", "label_smoothing", "smoothing", "eos", *SHORT})


def base_of(name: str) -> dict[str, Any]:
    return {"name": name, **{key: value for key, value in WEIGHTS.items() if key in ALL[name]}}


def training(name: str, projection: str, *, blank: bool = False) -> Look:
    base = base_of(name) | {"projection": projection}
    sees, apart = ALL[name] - PROJECTION, PROJECTION | {"name"}
    if blank:
        base |= {"observe": "none", **(SHORT if name == "axe" else {})}
        sees, apart = sees - SHOWN, apart | ({"observe"} if name == "axe" else frozenset())
    elif name == "axe":
        sees, apart = sees - SHORT.keys(), apart | {"first_column"}
    words = f"{name}-{projection}{'-blank' * blank}"
    return Look(name=words, kind=SYSTEMS[name].settings, see=numbers, sees=sees - apart, base=base, apart=apart)


def fused(name: str) -> Look:
    kind = SYSTEMS[name].settings
    return Look(
        name=f"{name}-fused", kind=kind, see=is_fused, sees=PROJECTION, base=base_of(name), apart=frozenset({"name"})
    )


LOOKS = [
    *(training(name, how) for name in tuple(SYSTEMS) for how in ("fused", "plain")),
    *(training(name, how, blank=True) for name in ("masked", "axe") for how in ("fused", "plain")),
    *map(fused, tuple(SYSTEMS)),
    *(
        Look(
            name=f"{name}-decoded", kind=SYSTEMS[name].settings, see=decoded, sees=frozenset({"eos"}),
            base=base_of(name), apart=ALL[name] - {"eos"} | {"name"},
        )
        for name in ("masked", "axe")
    ),
    Look(
        name="axe-analysed", kind=SYSTEMS["axe"].settings, see=analysed, sees=ALIGNED,
        apart=ALL["axe"] - ALIGNED | {"name"},
        base=base_of("axe") | {"smoothing": "inside", "observe": "none", **SHORT},
    ),
]  # fmt: skip


@looks_at_keys(*LOOKS)
def test_a_key_changes_exactly_what_it_is_about(look, key) -> None:
    look.check(key)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_key_that_a_system_reads_is_noticed(name) -> None:
    looks = [look for look in LOOKS if look.name.split("-")[0] == name]
    assert unnoticed(SYSTEMS[name].settings, *looks, apart=("name",)) == []


def test_the_name_chooses_what_is_trained_and_decoded() -> None:
    trained = [numbers(settings_of(name))[1] for name in SYSTEMS]
    assert all(one != other for one, other in combinations(trained, 2))
    assert decoded(settings_of("masked")) != decoded(settings_of("axe"))
