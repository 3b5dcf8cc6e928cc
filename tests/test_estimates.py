"""What a study will need: exact where the model is known, and never too little where it is only bounded."""

import pytest

from axenat.config import ModelConfig
from axenat.estimates import FLOAT, largest_vocabulary, num_parameters, own_folders, parameters_of, space_of, work_of
from axenat.model.transformer import Transformer
from axenat.study import parse_study
from axenat.systems.registry import LEFT_TO_RIGHT, MASKED, SYSTEMS
from tests.studies import study
from tests.tiny import model_config, objective


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("name", SYSTEMS)
def test_parameters_are_those_of_the_real_network(joint, name) -> None:
    config, predicts_length = model_config(encoder_layers=2, hidden=40), objective(name).predicts_length
    real = Transformer(config, 11, 13, joint=joint, predicts_length=predicts_length)
    assert num_parameters(SYSTEMS[name], config, 11, 13, joint=joint) == sum(
        weight.numel() for weight in real.parameters()
    )


def test_the_paper_s_base_model_has_its_well_known_size() -> None:
    size = num_parameters(LEFT_TO_RIGHT, ModelConfig(), 37_000, 37_000, joint=True)
    assert 63e6 < size < 66e6  # Vaswani et al. (2017), Table 3: 65 million


def test_a_capped_vocabulary_is_no_larger_than_its_cap() -> None:
    capped = parse_study(study(corpora__demo__subwords={"merges": 4000, "max_vocabulary": 500})).corpora["demo"]
    free = parse_study(study(corpora__demo__subwords={"merges": 4000})).corpora["demo"]
    assert largest_vocabulary(capped) == 500 < 4000 < largest_vocabulary(free)


def test_work_grows_with_steps_and_tokens() -> None:
    known = parse_study(study(recipes__small__train={"steps": 20}))
    twice = parse_study(study(recipes__small__train={"steps": 40}))
    parameters = parameters_of(known, "ce")
    assert work_of(twice.runs["ce"], parameters) == 2 * work_of(known.runs["ce"], parameters)


def test_trainings_at_once_need_more_room_than_one_after_the_other() -> None:
    known = parse_study(study())
    space = space_of(known, {"own": 1000})
    assert space.least < space.most
    assert space.most - space.least == sum(space.in_training.values()) - max(space.in_training.values())
    assert space_of(known, {"own": 2000}).least > space.least
    assert own_folders(known)["own"] == [f"texts/{split}.{side}" for split in ("train", "valid", "test")
                                         for side in ("en", "de")]  # fmt: skip


def test_a_published_corpus_needs_room_for_its_archives_and_for_what_is_in_them() -> None:
    corpus = {"source_language": "en", "target_language": "de", "recipe": "wmt14-en-de"}
    plain = parse_study(study())
    published = parse_study(study(corpora__own=corpus))
    packed = sum(archive.bytes or 0 for archive in published.selections["own"].archives.values())
    more = space_of(published, {}).least - space_of(plain, {}).least
    assert more > 3 * packed > 3e9


def grown(**change):
    """What a change of the small study adds to each part of its space."""
    before, after = (space_of(parse_study(study(**changes)), {"own": 1000}) for changes in ({}, change))
    parts = {part: getattr(after, part) - getattr(before, part) for part in ("archives", "text", "models")}
    runs = {run: after.in_training[run] - before.in_training[run] for run in after.in_training}
    return parts, {run: size for run, size in runs.items() if size}


def test_one_checkpoint_more_is_one_model_more_and_no_more_while_training() -> None:
    before = parse_study(study())
    keep = before.runs["ce"].train.keep_best + 1
    parts, in_training = grown(runs__ce__train={"keep_best": keep})
    assert parts == {"archives": 0, "text": 0, "models": FLOAT * parameters_of(before, "ce")} and in_training == {}


def test_a_larger_model_takes_more_room_for_itself_and_for_its_training_alone() -> None:
    larger = {"width": 16, "heads": 2, "hidden": 4096}
    first, second = (parameters_of(parse_study(study(runs__ce__model=model)), "ce") for model in ({}, larger))
    parts, in_training = grown(runs__ce__model=larger)
    more = FLOAT * (second - first)
    kept = parse_study(study()).runs["ce"].train.keep_best
    # Two states and the one that is being written, each of weights and two moments.
    assert parts == {"archives": 0, "text": 0, "models": (kept + 3) * more} and in_training == {"ce": 9 * more}


@pytest.mark.parametrize(("split", "sides"), [("train", 2), ("valid", 4), ("test", 4)])
def test_a_sentence_of_the_grammar_takes_room_for_its_source_and_each_reference(split, sides) -> None:
    sizes = parse_study(study()).corpora["demo"].grammar
    parts, _ = grown(**{f"corpora__demo__grammar__{split}": getattr(sizes, split) + 10})
    two_sides, _ = grown(corpora__demo__grammar__train=sizes.train + 10)
    assert parts["models"] == parts["archives"] == 0
    # A further reference is counted as a pair of its own: rather too much than too little.
    assert parts["text"] == two_sides["text"] * {2: 1, 4: 4}[sides] > 0


def test_an_archive_that_two_corpora_share_is_there_once_and_once_more_in_the_cache() -> None:
    languages = {"source_language": "en", "target_language": "de", "recipe": "wmt14-en-de"}
    back = {"source_language": "de", "target_language": "en", "recipe": "wmt14-en-de"}
    one = parse_study(study(corpora__own=languages))
    archives = {archive.place: archive.bytes or 0 for archive in one.selections["own"].archives.values()}
    assert space_of(one, {}).archives == 2 * sum(archives.values())
    both = parse_study(study(corpora__own=languages, corpora__back=back))
    assert space_of(both, {}).archives == 2 * sum(archives.values())


def test_a_model_without_learnt_vocabularies_is_as_large_as_they_may_become() -> None:
    """Those that were learnt are taken where they are known, each for its own side."""
    apart = parse_study(study(corpora__demo__subwords={"merges": 50, "joint": False}))
    config, size = apart.runs["ce"].model, largest_vocabulary(apart.corpora["demo"])
    assert parameters_of(apart, "ce") == num_parameters(MASKED, config, size, size, joint=False)
    assert parameters_of(apart, "ce", (30, 70)) == num_parameters(MASKED, config, 30, 70, joint=False)
    assert parameters_of(apart, "teacher") < parameters_of(apart, "ce"), "a teacher predicts no length"
