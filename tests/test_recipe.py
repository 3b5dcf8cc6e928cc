"""Recipes are data: what they name must exist, and agree with what others record."""

from pathlib import Path

import pytest
import yaml
from sacrebleu.dataset import DATASETS

from axenat.archive import Archive
from axenat.corpus_config import CorpusConfig, SubwordsConfig
from axenat.recipe import Expected, Recipe, archive_of, load_recipe, patterns_of, recipe_names, select
from axenat.records import ConfigError, build
from axenat.study import parse_study

CONFIG = Path(__file__).parents[1] / "config"
STUDIES = sorted(path.stem for path in CONFIG.glob("*.yaml") if "recipe" in path.read_text(encoding="utf-8"))
WMT = [f"wmt{year}-{pair}" for year, pair in ((14, "en-de"), (16, "en-ro"), (17, "en-zh"))]
SUM = "0" * 64


@pytest.mark.parametrize("name", WMT)
def test_dev_and_test_sets_are_those_of_sacrebleu(name: str) -> None:
    recipe = load_recipe(name)
    for title, held_out in recipe.sets.items():
        data = DATASETS[held_out.sacrebleu]
        for direction, files in held_out.files.items():
            source, target = direction.split("-")
            archives = {archive_of(file) for file in files.values()}
            assert len(archives) == 1, title
            archive = recipe.archives[archives.pop()]
            assert (list(archive.addresses), [archive.md5]) == (data.data, data.md5)
            members = [pattern for language in (source, target) for pattern in patterns_of(files[language])]
            assert members == data.langpairs[direction]


@pytest.mark.parametrize("name", recipe_names())
def test_every_archive_is_used_and_every_corpus_has_a_licence_and_a_citation(name: str) -> None:
    recipe = load_recipe(name)
    files = [file for part in recipe.parts.values() for file in part.files.values()]
    files += [file for held_out in recipe.sets.values() for side in held_out.files.values() for file in side.values()]
    assert {archive_of(file) for file in files} == set(recipe.archives)
    assert recipe.licence and recipe.citation


@pytest.mark.parametrize("name", recipe_names())
def test_two_archives_never_share_a_place(name: str) -> None:
    places = [archive.place for archive in load_recipe(name).archives.values()]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("name", [f"{name}" for name in WMT])
def test_both_directions_of_a_pair_read_the_same_archives_and_the_paper_s_subwords(name: str) -> None:
    year, source, target = name.split("-")
    studies = [
        parse_study(yaml.safe_load((CONFIG / f"{year}-{pair}.yaml").read_text(encoding="utf-8")))
        for pair in (f"{source}-{target}", f"{target}-{source}")
    ]
    one, other = (next(iter(study.selections.values())) for study in studies)
    assert one.archives == other.archives
    assert one.train == other.train
    for study in studies:
        corpus = next(iter(study.corpora.values()))
        assert corpus.subwords.joint == (target != "zh")  # section 4.1
        assert study.runs["teacher"].model.width == (512 if target == "ro" else 1024)


def test_a_corpus_takes_the_steps_of_its_recipe_unless_it_says_otherwise() -> None:
    values = {
        "study": "one",
        "corpora": {
            "own": {
                "recipe": "wmt16-en-ro",
                "source_language": "ro",
                "target_language": "en",
                "text": {"remove_diacritics": True},
                "subwords": {"merges": 7},
            }
        },
        "runs": {"teacher": {"corpus": "own", "objective": {"name": "left_to_right"}}},
    }
    corpus = parse_study(values).corpora["own"]
    assert corpus.text.remove_diacritics and corpus.text.aggressive_hyphens
    assert corpus.subwords == SubwordsConfig(merges=7, joint=True, max_vocabulary=40_000)


def test_other_parts_and_sets_are_chosen_by_name_and_bring_their_archives() -> None:
    recipe = load_recipe("wmt14-en-de")
    chosen = select(
        recipe,
        source_language="de",
        target_language="en",
        train_parts=("news-commentary-v9",),
        test_set="newstest2014-filtered",
    )
    assert list(chosen.archives) == ["news-commentary-v9", "wmt13-test", "wmt14-test-filtered"]
    assert chosen.expected.raw is None, "what others counted is of other parts"


def test_the_same_parts_in_another_order_are_still_those_that_others_counted() -> None:
    recipe = load_recipe("wmt16-en-ro")
    parts = tuple(reversed(recipe.train))
    chosen = select(recipe, source_language="en", target_language="ro", train_parts=parts)
    assert tuple(chosen.train) == parts != recipe.train
    assert chosen.expected == recipe.expected != Expected()


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (
            {"train_parts": ("commoncrawl", "europarl-v7", "commoncrawl")},
            "train_parts must name each part once, got 'commoncrawl' 2 times",
        ),
        ({"train_parts": ("europarl-v6",)}, "each name in train_parts must be one of europarl-v7,"),
        ({"valid_set": "newstest1913"}, "valid_set must be one of newstest2013,"),
        ({"target_language": "ro"}, "the recipe is of en and de, not of en-ro"),
    ],
)
def test_what_a_recipe_does_not_have_is_refused_beside_what_it_has(choice: dict, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        select(load_recipe("wmt14-en-de"), **{"source_language": "en", "target_language": "de", **choice})
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("archive", "sentence"),
    [
        ({"addresses": [], "sha256": SUM}, "addresses must hold at least one"),
        ({"addresses": ["ftp://a.b/c"], "sha256": SUM}, "files on the web (http or https), got 'ftp://a.b/c'"),
        ({"addresses": ["http://[/y"], "sha256": SUM}, "files on the web (http or https), got 'http://[/y'"),
        ({"addresses": ["http://a.b/../c"], "sha256": SUM}, "files on the web (http or https)"),
        ({"addresses": ["http://a.b/c"]}, "a sum is missing; give sha256 or md5"),
        ({"addresses": ["http://a.b/c"], "sha256": "abc"}, "sha256 must be 64 hexadecimal digits"),
        ({"addresses": ["http://a.b/c"], "sha256": SUM, "bytes": 0}, "bytes must be >= 1"),
    ],
)
def test_an_archive_that_cannot_be_checked_is_refused(archive: dict, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build(Archive, archive, "archives.x")
    assert sentence in str(refused.value)


PLACE = "http://a.b/one.tgz"
ODD_RECIPES = [
    ("languages", ["en", "ro", "de"], "languages must be two that differ, got en, ro, de"),
    ("languages", ["en", "en"], "languages must be two that differ, got en, en"),
    ("train", [], "train must name at least one part"),
    ("train", ["text", "text"], "train must name each part once, got 'text' 2 times"),
    ("archives.two.addresses", [PLACE], "archives.two would lie at a.b/one.tgz, but archives.one takes a.b/one.tgz"),
    ("archives.two.addresses", ["https://A.B//one.tgz"], "but archives.one takes a.b/one.tgz"),
    ("archives.two.addresses", [f"{PLACE}.part"], "but archives.one takes a.b/one.tgz.part"),
    ("archives.two.addresses", [f"{PLACE}.part.json"], "but archives.one takes a.b/one.tgz.part.json"),
    ("archives.two.addresses", [f"{PLACE}/two"], "archives.two would lie at a.b/one.tgz/two"),
    ("archives.two.addresses", ["http://a.b/one.tgz.part/x"], "but archives.one takes a.b/one.tgz.part"),
    ("parts.memory.files.ro", "one", "parts.memory: files must be one and the same with tmx, got two, one"),
    ("parts.text.pairs", -5, "parts.text: pairs must be >= 1, got -5"),
    ("parts.text.unspace", ["zh"], "parts.text: each language in unspace must be one of en, ro, got 'zh'"),
    ("sets.dev.pairs", 0, "sets.dev: pairs must be >= 1, got 0"),
    ("sets.dev.format", "pdf", "sets.dev: format must be one of text, sgm, tmx, got 'pdf'"),
    ("sets.dev.files", {}, "sets.dev: files must hold at least one direction"),
    ("sets.dev.files", {"en-xx": {"en": "one:a", "ro": "one:b"}}, "must be one of en-ro, ro-en, got 'en-xx'"),
    ("sets.dev.files", {"en": {"en": "one:a", "ro": "one:b"}}, "sets.dev: each direction in files must be one of"),
    ("expected.raw", -1, "expected: raw must be >= 1, got -1"),
    ("expected.clean", 0, "expected: clean must be >= 1, got 0"),
]


def recipe_values() -> dict:
    """A recipe that is right."""
    return {
        "title": "small",
        "languages": ["en", "ro"],
        "archives": {
            "one": {"addresses": [PLACE], "sha256": SUM},
            "two": {"addresses": ["http://a.b/two.tgz"], "sha256": SUM},
        },
        "parts": {
            "text": {"files": {"en": "one:en", "ro": "one:ro"}, "pairs": 1, "unspace": ["ro"]},
            "memory": {"files": {"en": "two", "ro": "two"}, "format": "tmx"},
        },
        "sets": {"dev": {"files": {"ro-en": {"en": "one:a", "ro": "one:b"}}, "pairs": 1}},
        "train": ["text", "memory"],
        "valid": "dev",
        "test": "dev",
        "expected": {"raw": 1, "clean": 1},
    }


def test_places_that_only_begin_alike_are_no_conflict() -> None:
    values = recipe_values()
    values["archives"]["two"]["addresses"] = [f"{PLACE}.parts", PLACE]
    assert build(Recipe, values, "own").archives["two"].place == "a.b/one.tgz.parts"


@pytest.mark.parametrize(("key", "value", "sentence"), ODD_RECIPES)
def test_a_recipe_that_contradicts_itself_is_refused_in_one_sentence(key: str, value, sentence: str) -> None:
    values = recipe_values()
    build(Recipe, values, "own.yaml")
    *above, last = key.split(".")
    place = values
    for name in above:
        place = place[name]
    place[last] = value
    with pytest.raises(ConfigError) as refused:
        build(Recipe, values, "own.yaml")
    said = str(refused.value)
    assert said.startswith("own.yaml") and sentence in said.replace("own.yaml.", "") and "\n" not in said


@pytest.mark.parametrize("change", [{"references": 2}, {"judged": True}])
def test_a_recipe_has_one_reference_and_judges_nothing(change: dict) -> None:
    corpus = {"recipe": "multi30k", "source_language": "en", "target_language": "de"}
    CorpusConfig(**corpus)
    with pytest.raises(ConfigError, match="a recipe has one reference of each sentence and judges no output, so"):
        CorpusConfig(**corpus, **change)
