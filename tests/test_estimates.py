"""What a study will need: exact where the model is known, and never too little where it is only bounded."""

import pytest

from axenat.config import ModelConfig
from axenat.estimates import largest_vocabulary, num_parameters, own_folders, parameters_of, space_of, work_of
from axenat.model.transformer import Transformer
from axenat.study import parse_study
from tests.studies import study
from tests.tiny import model_config


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("predicts_length", [True, False])
def test_parameters_are_those_of_the_real_transformer(joint, predicts_length) -> None:
    config = model_config(encoder_layers=2, hidden=40)
    flags = {"joint": joint, "predicts_length": predicts_length}
    real = Transformer(config, 11, 13, **flags)
    assert num_parameters(config, 11, 13, **flags) == sum(weight.numel() for weight in real.parameters())


def test_the_paper_s_base_model_has_its_well_known_size() -> None:
    size = num_parameters(ModelConfig(), 37_000, 37_000, joint=True, predicts_length=False)
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
