"""The configuration refuses in words: which key, what is wrong, what is allowed."""

from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from axenat.config import DecodeConfig, ModelConfig, RunConfig, TrainConfig
from axenat.corpus_config import CorpusConfig
from axenat.files import UserError
from axenat.records import ConfigError, as_plain, build
from axenat.study import parse_study
from axenat.systems.registry import SYSTEMS, settings_of
from tests.studies import study


def test_the_study_of_these_tests_is_allowed() -> None:
    assert list(parse_study(study()).runs) == ["teacher", "ce", "axe-delta1", "axe-delta2.5"]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        # unknown keys, on every level, with the ones that are known
        ("runz", {}, ["runz is not a known key", "study, note, corpora, recipes, runs"]),
        ("corpora__demo__clean", {"max_lenght": 3}, ["corpora.demo.clean.max_lenght", "not a known key", "max_length"]),
        ("runs__ce__modle", {}, ["runs.ce.modle is not a known key", "model"]),
        ("recipes__small__train__lr", 0.1, ["runs.teacher.train.lr is not a known key", "peak_lr"]),
        ("runs__ce__model__5", 1, ["runs.ce.model.5 is not a known key"]),
        ("recipes__spare", {"modle": {}}, ["recipes.spare.modle is not a known key", "model"]),
        ("recipes__spare", {"train": {"lr": 1}}, ["recipes.spare.train.lr is not a known key", "peak_lr"]),
        # wrong types
        ("recipes__spare", {"train": {"steps": "ten"}}, ["recipes.spare.train.steps must be a whole number"]),
        ("recipes__spare", {"train": {"steps": [1, "ten"]}}, ["recipes.spare.train.steps must be a whole number"]),
        ("recipes__spare", {"train": 3}, ["recipes.spare.train must be a mapping of keys, got 3"]),
        ("recipes__spare", None, ["recipes.spare must be a mapping of names, got None"]),
        ("note", 3, ["note must be text, got 3"]),
        ("note", ["a"], ["note must be text, got ['a']"]),
        ("recipes__small__train__steps", "ten", ["train.steps must be a whole number", "the text 'ten'"]),
        ("recipes__small__train__steps", 1.5, ["train.steps must be a whole number, got 1.5"]),
        ("recipes__small__train__steps", True, ["train.steps must be a whole number, got True"]),
        ("recipes__small__train__steps", None, ["train.steps must be a whole number, got None"]),
        ("recipes__small__train__peak_lr", "5e-4", ["train.peak_lr must be a number", "'5e-4'", "write 5.0e-4"]),
        ("recipes__small__train__peak_lr", True, ["train.peak_lr must be a number, got True"]),
        ("recipes__small__train__peak_lr", float("nan"), ["train.peak_lr must be a number, got nan"]),
        ("runs__axe__objective__skip_target_penalty", float("nan"), ["skip_target_penalty must be a number, got nan"]),
        ("corpora__demo__judged", "yes!", ["corpora.demo.judged must be true or false"]),
        ("corpora__demo__source_language", False, ["source_language must be text, got False"]),
        ("runs__ce__decode", {"length_multipliers": 1.1}, ["decode.length_multipliers must be a list, got 1.1"]),
        ("runs__ce__decode", {"length_multipliers": ["a"]}, ["decode.length_multipliers must be a number"]),
        ("runs__ce__model", [1], ["runs.ce.model must be a mapping of keys, got [1]"]),
        ("runs__ce", None, ["runs.ce must be a mapping"]),
        ("corpora", ["demo"], ["corpora must be a mapping of names"]),
        # a list where one value belongs
        ("runs__ce__decode", {"beam_size": [4, 5]}, ["decode.beam_size must be a whole number, got [4, 5]"]),
        ("runs__ce__corpus", ["demo"], ["corpus must be text, got ['demo']"]),
        ("runs__ce__recipe", ["small"], ["runs.ce.recipe: unknown recipe ['small']", "small"]),
        # values out of range
        ("runs__axe__objective__skip_target_penalty", 0.5, ["skip_target_penalty must be >= 1", "got 0.5"]),
        ("runs__axe__objective__skip_target_penalty", [1, 0.5], ["skip_target_penalty must be >= 1", "got 0.5"]),
        (
            "runs__axe__objective__skip_target_penalty",
            1e39,
            ["skip_target_penalty must be a finite number >= 1", "1e+39"],
        ),
        ("recipes__small__model__heads", 3, ["model.width must be a multiple of model.heads (3), got 16"]),
        ("recipes__small__model__dropout", 1.0, ["model.dropout must be at least 0 and below 1, got 1.0"]),
        ("recipes__small__model__init_std", -0.1, ["model.init_std must be >= 0.0, got -0.1"]),
        ("recipes__small__seed", -1, ["seed must be from 0 to 9223372036854775807, got -1"]),
        ("recipes__small__seed", 2**63, ["seed must be from 0 to 9223372036854775807, got 9223372036854775808"]),
        ("corpora__demo__grammar__seed", -1, ["grammar.seed must be from 0 to"]),
        ("recipes__small__objective__name", "ctc", ["objective.name must be one of left_to_right, masked, axe", "ctc"]),
        ("recipes__small__objective__observe", "all", ["objective.observe must be one of some, none, got 'all'"]),
        (
            "recipes__small__objective__projection",
            "half",
            ["objective.projection must be one of fused, plain, got 'half'"],
        ),
        (
            "recipes__small__objective__first_column",
            "x",
            ["objective.first_column must be one of paper, strict, got 'x'"],
        ),
        ("runs__axe__objective__smoothing", "off", ["objective.smoothing must be one of outside, inside, got 'off'"]),
        ("runs__ce__objective", {"normalise": "x"}, ["objective.normalise must be one of tokens, sentences, got 'x'"]),
        ("runs__ce__objective", {"eos": "x"}, ["objective.eos must be one of keep, drop, got 'x'"]),
        ("runs__ce__objective", {"most_hidden": "x"}, ["objective.most_hidden must be one of all, all_but_one"]),
        ("recipes__small__model__init", "x", ["model.init must be one of normal, mask_predict, got 'x'"]),
        ("recipes__small__model__layer_norm_eps", 0, ["model.layer_norm_eps must be above 0, got 0.0"]),
        ("recipes__small__model__recompute", "x", ["model.recompute must be true or false, got the text 'x'"]),
        ("recipes__small__objective__score", "x", ["objective.score must be one of hidden, all"]),
        ("recipes__small__train__peak_lr", 0, ["train.peak_lr must be above 0, got 0"]),
        ("recipes__small__train__precision", "int8", ["train.precision must be one of auto, fp32, tf32, bf16, fp16"]),
        ("recipes__small__train__tokens_per_step", 10, ["train.tokens_per_step must be >= 8192, got 10"]),
        ("runs__ce__target_side", "fake", ["target_side must be one of raw, distilled, got 'fake'"]),
        ("runs__ce__decode", {"length_multipliers": []}, ["decode.length_multipliers must hold at least one number"]),
        ("runs__ce__decode", {"length_multipliers": [0.1]}, ["decode.length_multipliers must be >= 0.5, got 0.1"]),
        (
            "runs__ce__decode",
            {"length_multipliers": [1, 1.1, 1.0]},
            ["must hold each number once, got [1.0, 1.1, 1.0]"],
        ),
        ("runs__ce__decode", {"length_penalties": [-1]}, ["decode.length_penalties must be >= 0.0, got -1"]),
        ("runs__ce__decode", {"iterations": 0}, ["decode.iterations must be >= 1, got 0"]),
        ("runs__ce__decode", {"rank_norm": "x"}, ["decode.rank_norm must be one of positions, tokens, sum, got 'x'"]),
        ("runs__ce__decode", {"engine": "x"}, ["decode.engine must be one of auto, torch, ctranslate2, onnx, got 'x'"]),
        ("runs__ce__decode", {"precision": "x"}, ["decode.precision must be one of auto, float32, float16, int8"]),
        ("runs__ce__decode", {"also": "ell1"}, ["runs.ce.decode.also must be a list, got 'ell1'"]),
        ("runs__ce__decode", {"also": [1]}, ["runs.ce.decode.also must be text, got 1"]),
        (
            "runs__ce__decode",
            {"also": ["ell1", "best"]},
            ["decode.also: 'best' is no decoding", "beam1, ell1 and ell5-t4"],
        ),
        ("corpora__demo__grammar__train", 0, ["grammar.train must be >= 1, got 0"]),
        ("corpora__demo__references", 0, ["corpora.demo", "references must be >= 1, got 0"]),
        ("corpora__demo__clean", {"max_length": 0}, ["clean.max_length must be >= 1, got 0"]),
        ("corpora__demo__analysis", {"length_bounds": [3, 2]}, ["analysis.length_bounds", "rise", "[3, 2]"]),
        (
            "corpora__demo__analysis",
            {"length_bounds": [0, 9]},
            ["analysis.length_bounds", "from 1 that rise", "[0, 9]"],
        ),
        ("corpora__demo__analysis", {"length_bounds": [-5, 9]}, ["analysis.length_bounds", "from 1", "[-5, 9]"]),
        ("corpora__own__source_language", "xx", ["corpora.own: source_language must be one of as, bn", "got 'xx'"]),
        ("corpora__own__target_language", "../de", ["target_language must be one of", "got '../de'"]),
        # what does not fit together
        (
            "runs__axe__objective",
            {"name": "axe", "train_length_multiplier": 1.1},
            ["train_length_multiplier must be 1 unless observe is none", "got 1.1 with observe some"],
        ),
        (
            "runs__ce__objective",
            {"observe": "none", "train_length_multiplier": 1.1},
            ["runs.ce.objective.train_length_multiplier: masked does not read it; it reads label_smoothing, observe"],
        ),
        (
            "runs__teacher__objective__observe",
            "none",
            ["runs.teacher.objective.observe: left_to_right does not read it; it reads label_smoothing, projection"],
        ),
        (
            "runs__axe__objective",
            {"name": "axe", "observe": "none", "train_length_multiplier": 0.4},
            ["objective.train_length_multiplier must be >= 0.5, got 0.4"],
        ),
        (
            "runs__ce__objective",
            {"observe": "none", "most_hidden": "all_but_one"},
            ["objective.most_hidden must be all with observe none, which hides all tokens"],
        ),
        (
            "runs__ce__decode",
            {"engine": "ctranslate2"},
            ["runs.ce", "decode.engine of a masked run must be one of auto, torch, onnx, got 'ctranslate2'"],
        ),
        (
            "runs__teacher__decode",
            {"engine": "onnx"},
            ["decode.engine of a left_to_right run must be one of auto, torch, ctranslate2, got 'onnx'"],
        ),
        ("corpora__demo__folder", "texts", ["corpora.demo", "exactly one of grammar, folder and recipe"]),
        ("corpora__own__folder", None, ["corpora.own", "exactly one of grammar, folder and recipe"]),
        ("corpora__own__target_language", "en", ["source_language and target_language must differ"]),
        ("corpora__demo__target_language", "ro", ["grammar writes source_language en and target_language de"]),
        # names that lead nowhere
        ("runs__ce__recipe", "huge", ["runs.ce.recipe: unknown recipe 'huge'", "known are base, large, small"]),
        ("recipes__small__recipe", "huge", ["recipes.small.recipe: unknown recipe 'huge'; known are base, large"]),
        ("recipes__spare", {"recipe": "small"}, ["recipes.spare.recipe: unknown recipe 'small'; known are base, lar"]),
        ("recipes__spare", {"recipe": "spare"}, ["recipes.spare.recipe: unknown recipe 'spare'"]),
        ("runs__ce__corpus", "wmt", ["runs.ce.corpus: unknown corpus 'wmt'", "known are demo, own"]),
        ("corpora__demo__distil__teacher", "x", ["corpora.demo.distil.teacher: unknown run 'x'", "teacher, ce, axe-"]),
        ("corpora__demo__distil__teacher", "ce", ["distil.teacher: ce must be a left_to_right run on the raw side"]),
        ("runs__teacher__target_side", "distilled", ["distil.teacher: teacher must be a left_to_right run on the raw"]),
        ("corpora__demo__distil", None, ["runs.ce.target_side is distilled", "corpora.demo has no distil section"]),
        # weights that do not fit, and runs that wait for themselves
        ("runs__ce__start_from", "x", ["runs.ce.start_from: unknown run 'x'; known are teacher, ce, axe-delta1"]),
        ("runs__ce__start_from", "axe", ["runs.ce.start_from: unknown run 'axe'"]),
        ("runs__ce__start_from", "ce", ["runs.ce.start_from: ce itself waits for ce"]),
        ("runs__teacher__start_from", "ce", ["runs.teacher.start_from: ce itself waits for teacher"]),
        (
            "runs__ce",
            {"recipe": "small", "corpus": "own", "start_from": "teacher"},
            ["runs.ce.start_from: teacher is of corpus demo, must be of own"],
        ),
        (
            "runs__ce",
            {"recipe": "small", "start_from": "teacher", "model": {"hidden": 7}},
            ["runs.ce.start_from: model.hidden of teacher is ", "must be 7"],
        ),
        # grids
        ("runs__axe__train", {"peak_lr": [0.1, 0.2]}, ["runs.axe has more than one grid", "peak_lr"]),
        ("runs__axe__objective__skip_target_penalty", [], ["runs.axe: the grid of skip_target_penalty is empty"]),
        (
            "runs__ce__objective",
            {"skip_target_penalty": [1, 2]},
            ["runs.ce: a grid of skip_target_penalty, which masked does not read", "it reads label_smoothing, observe"],
        ),
        ("runs__ce__objective", {"smoothing": ["inside"]}, ["a grid of smoothing, which masked does not read"]),
        ("runs__teacher__objective__eos", ["keep", "drop"], ["a grid of eos, which left_to_right does not read"]),
        ("runs__teacher__objective__observe", ["some", "none"], ["runs.teacher", "left_to_right does not read"]),
        ("runs__axe-delta1", {"recipe": "small"}, ["runs.axe-delta1 is defined twice"]),
        # what is missing, and names that are none
        ("study", ..., ["study is missing"]),
        ("runs", {}, ["runs is missing or empty"]),
        ("corpora__demo__target_language", ..., ["corpora.demo.target_language is missing"]),
        ("recipes__small__objective", ..., ["runs.ce.objective is missing"]),
        ("runs__../evil", {"recipe": "small"}, ["runs: '../evil' is not a name; use letters, digits"]),
        ("study", "my study", ["study: 'my study' is not a name"]),
    ],
)
def test_a_refusal_names_the_key_what_is_wrong_and_what_is_allowed(path, value, words) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_study(study(**{path: value}))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_recipe_may_leave_to_its_runs_what_they_must_say() -> None:
    spare = {
        "seed": [1, 2],
        "model": {"heads": 3},
        "objective": {"name": "masked", "skip_target_penalty": [1, 2]},
    }
    assert parse_study(study(recipes__spare=spare))


def test_a_configuration_that_is_no_mapping_is_refused() -> None:
    for values in (None, [], "text"):
        with pytest.raises(ConfigError, match="must be a mapping with the keys study"):
            parse_study(values)


def test_a_refusal_is_an_error_of_the_user() -> None:
    assert issubclass(ConfigError, UserError)


@pytest.mark.parametrize("kind", [ModelConfig, TrainConfig, DecodeConfig])
def test_the_defaults_are_allowed_and_come_back_from_plain_values(kind) -> None:
    assert build(kind, as_plain(kind()), "x") == kind()


@given(
    st.sampled_from(["left_to_right", "masked", "axe"]),
    st.floats(1, 9),
    st.lists(st.floats(0.5, 2), min_size=1, max_size=4, unique=True),
)
def test_a_record_survives_yaml(name, delta, multipliers) -> None:
    values = {
        "corpus": "x",
        "objective": {"name": name, **({"skip_target_penalty": delta} if name == "axe" else {})},
        "decode": {"length_multipliers": multipliers},
    }
    run = build(RunConfig, values, "runs.x")
    assert build(RunConfig, yaml.safe_load(yaml.safe_dump(as_plain(run))), "runs.x") == run


def test_whole_numbers_may_stand_for_others_and_null_for_what_is_optional() -> None:
    axe = {"name": "axe", "skip_target_penalty": 2}
    assert settings_of("axe", skip_target_penalty=2.0) == build(type(settings_of("axe")), axe, "x")
    plain = {"source_language": "en", "target_language": "de", "grammar": None, "folder": "x", "distil": None}
    assert build(CorpusConfig, plain, "x").distil is None


def test_records_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ModelConfig().width = 3  # type: ignore[misc]


def run_of(name: str, **decode) -> RunConfig:
    return build(RunConfig, {"corpus": "x", "objective": {"name": name}, "decode": decode}, "x")


def test_the_name_of_a_decoding_tells_its_size() -> None:
    teacher, student = run_of("left_to_right"), run_of("axe")
    assert (teacher.decode_name, teacher.system.decoding.tuned.key) == ("beam5", "length_penalty")
    assert (student.decode_name, student.system.decoding.tuned.key) == ("ell5", "length_multiplier")
    assert run_of("masked", iterations=4).decode_name == "ell5-t4"
    assert run_of("left_to_right", iterations=4, beam_size=1).decode_name == "beam1"


@pytest.mark.parametrize(
    ("objective", "also", "names"),
    [
        ("axe", ["ell1"], ("ell5", "ell1")),
        ("left_to_right", ["ell1"], ("beam5",)),
        ("left_to_right", ["ell1", "beam1", "ell5-t4"], ("beam5", "beam1")),
        ("masked", ["ell5-t4", "beam1", "ell1"], ("ell5", "ell5-t4", "ell1")),
        ("masked", ["ell5", "ell1", "ell1"], ("ell5", "ell1")),
        ("masked", [], ("ell5",)),
    ],
)
def test_a_run_has_its_own_decoding_first_and_then_once_each_of_the_others_that_fit(objective, also, names) -> None:
    assert run_of(objective, also=also).decode_names == names


@given(st.sampled_from(["left_to_right", "masked"]), *[st.integers(1, 99)] * 4)
def test_a_named_decoding_is_what_its_name_says_and_otherwise_as_before(system, beam, ell, passes, other) -> None:
    form, another = (SYSTEMS[name].decoding for name in (system, "masked" if system != "masked" else "left_to_right"))
    asked = DecodeConfig(beam_size=beam, num_length_candidates=ell, iterations=passes, rank_norm="sum")
    before = DecodeConfig(beam_size=other, num_length_candidates=other, iterations=other, rank_norm="sum")
    named = before.named(form.name(asked))
    assert form.name(named) == form.name(asked)
    assert another.name(named) == another.name(before)
    one = {"beam_size": 1, "num_length_candidates": 1, "iterations": 1}
    assert replace(named, **one) == replace(before, **one)


@given(st.sampled_from(sorted(SYSTEMS)), st.integers(1, 999), st.integers(1, 999))
def test_a_name_gives_back_the_sizes_that_it_was_made_of(system, first, second) -> None:
    form = SYSTEMS[system].decoding
    keys = [size.key for size in form.sizes]
    sizes = dict(zip(keys, (first, second), strict=False))
    assert form.sizes_in(form.name(DecodeConfig(**sizes))) == sizes
    assert form.sizes_in(f"{form.name(DecodeConfig(**sizes))}x") is None


@pytest.mark.parametrize(
    "name", ["", "beam", "beam0", "ell05", "ell5-t1", "ell5-t0", "ell5 ", "beam5-t4", "ell٣", "t4"]
)
def test_a_decoding_has_one_name_and_others_are_refused(name) -> None:
    with pytest.raises(ConfigError, match="is no decoding; allowed are names such as beam1, ell1 and ell5-t4"):
        DecodeConfig().named(name)
