"""The paper's recipes are known to every study, say what the paper says, and give way to a study's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.config import RunConfig
from axenat.presets import PRESETS
from axenat.records import as_plain, build, check_part, merge
from axenat.study import parse_study
from axenat.systems.registry import SYSTEMS, keys_read
from tests.studies import study

# Section 4.1, sentence by sentence.
PAPER = {
    "model": {"encoder_layers": 6, "decoder_layers": 6, "heads": 8, "width": 512, "hidden": 2048, "dropout": 0.3,
              "init_std": 0.02},
    "objective": {"label_smoothing": 0.1},
    "train": {"weight_decay": 0.01, "tokens_per_step": 128 * 1024, "adam_beta1": 0.9, "adam_beta2": 0.999,
              "adam_eps": 1e-6, "peak_lr": 5e-4, "warmup_steps": 10_000, "steps": 300_000, "validate_every": 0,
              "keep_best": 5},
}  # fmt: skip


def contains(whole: dict, part: dict) -> bool:
    return merge(whole, part) == whole


def run_of(recipe: str, name: str, **differences) -> RunConfig:
    """The run of a study that defines no recipe."""
    run = {"recipe": recipe, "corpus": "own", "objective": {"name": name}, **differences}
    return parse_study(study(recipes=..., corpora__demo=..., runs={"run": run})).runs["run"]


def read_by(run: dict) -> dict:
    """Without the keys of a preset that the run's system does not read."""
    objective = run["objective"]
    return run | {"objective": {key: objective[key] for key in objective if key in keys_read(objective["name"])}}


def test_base_is_what_the_paper_says() -> None:
    assert contains(PRESETS["base"], PAPER)


def test_large_is_base_but_for_its_size() -> None:
    size = {"width": 1024, "hidden": 4096, "heads": 16}
    assert PRESETS["large"] == merge(PRESETS["base"], {"model": size})


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_known_keys_alone(preset) -> None:
    check_part(RunConfig, PRESETS[preset], preset)


@pytest.mark.parametrize("name", tuple(SYSTEMS))
def test_what_is_left_out_is_base_too(name) -> None:
    """The defaults of each key, as config/README.md gives them, are the paper's."""
    assert run_of("base", name) == build(RunConfig, {"corpus": "own", "objective": {"name": name}}, "run")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", tuple(SYSTEMS))
def test_every_study_knows_the_presets_and_a_run_may_differ(preset, name) -> None:
    run = run_of(preset, name, train={"tokens_per_batch": 1024})
    expected = merge(PRESETS[preset], {"objective": {"name": name}, "train": {"tokens_per_batch": 1024}})
    assert contains(as_plain(run), read_by(expected))


def test_a_recipe_may_build_on_a_preset() -> None:
    runs = parse_study(study(recipes__small__recipe="large")).runs
    for name in ("teacher", "ce", "axe-delta1"):
        model = runs[name].model
        assert (model.width, model.heads, model.hidden) == (16, 2, 4096)  # its own, its own, the preset's
        assert runs[name].train.steps == 10


@pytest.mark.parametrize("preset", PRESETS)
def test_a_recipe_of_the_same_name_takes_the_place_of_the_preset(preset) -> None:
    """A study that was written before the preset must not change; to build on it, the recipe says so."""
    own = {"corpus": "demo", "model": {"width": 16, "heads": 2}, "objective": {"name": "masked"}}
    runs = {"alone": {"recipe": preset}}
    alone = parse_study(study(recipes={preset: own}, runs=runs, corpora__demo__distil=None)).runs["alone"]
    assert alone == build(RunConfig, own, "run")
    over = {preset: {**own, "recipe": preset}}
    built = parse_study(study(recipes=over, runs=runs, corpora__demo__distil=None)).runs["alone"]
    assert built == build(RunConfig, read_by(merge(PRESETS[preset], own)), "run")


@given(st.sampled_from(sorted(PRESETS)), st.sampled_from(tuple(SYSTEMS)))
def test_no_study_changes_a_preset(preset, name) -> None:
    before = repr(PRESETS)
    run_of(preset, name, model={"width": 64}, train={"steps": 1})
    assert repr(PRESETS) == before
