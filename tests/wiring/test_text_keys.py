"""Every rule of text, and both languages, reach the side that reads and writes the lines of a trained model."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from axenat.corpus_config import TextConfig
from axenat.data.side import Side
from axenat.data.text_section import TextSection, read_text_section, write_text_section
from axenat.records import as_plain, build
from tests.support.wiring import Look, keys_of, looks_at_keys, unnoticed
from tests.support.wiring_corpus import ENGLISH, ROMANIAN, made_of, write_texts

PLACE: dict[str, Path] = {}
CORPUS = {
    "source_language": "en",
    "target_language": "ro",
    "text": {"truecase": True},
    "subwords": {"merges": 40, "joint": False},
}


@pytest.fixture(scope="module", autouse=True)
def _subwords(tmp_path_factory):
    """Learnt once, with truecasers; the rules beside them change."""
    folder = tmp_path_factory.mktemp("text")
    write_texts(folder / "texts")
    made_of({**CORPUS, "folder": str(folder / "texts")}, folder / "made")
    PLACE["subwords"] = folder / "made" / "subwords"
    yield
    PLACE.clear()


def read(side: Side, lines: list[str]) -> Any:
    words = [side.tokenise(line) for line in lines]
    ids = [side.encode(line) for line in words]
    return words, ids, [side.plain(line) for line in words], [side.words(side.subwords(line)) for line in words]


def of_sides(section: TextSection) -> Any:
    write_text_section(PLACE["subwords"], section)
    sides = {side: Side.load(PLACE["subwords"], side) for side in ("source", "target")}
    return read(sides["source"], ENGLISH), read(sides["target"], ROMANIAN)


def with_rules(text: TextConfig) -> Any:
    return of_sides(TextSection(source_language="en", target_language="ro", text=text))


SECTION = {"source_language": "en", "target_language": "ro", "text": {}}
LOOKS = [
    Look(name="rules", kind=TextConfig, see=with_rules, sees=frozenset(keys_of(TextConfig))),
    Look(
        name="section", kind=TextSection, see=of_sides, sees=frozenset(keys_of(TextSection)), base=SECTION,
        tries={"source_language": ["fr"], "target_language": ["de"], "text": [{"escape": True}]},
    ),
]  # fmt: skip


@looks_at_keys(*LOOKS)
def test_a_rule_reaches_the_side_that_reads_a_line(look, key) -> None:
    look.check(key)


def test_every_rule_is_noticed() -> None:
    assert unnoticed(TextConfig, *LOOKS) == unnoticed(TextSection, *LOOKS) == []


def test_each_side_has_its_own_language() -> None:
    of_sides(build(TextSection, SECTION, "section"))
    assert [Side.load(PLACE["subwords"], side).language for side in ("source", "target")] == ["en", "ro"]


@pytest.mark.parametrize("key", keys_of(TextConfig))
def test_a_rule_comes_back_from_its_file_as_it_was_and_no_other_with_it(tmp_path, key) -> None:
    section = TextSection(source_language="ro", target_language="en", text=TextConfig(**{key: True}))
    write_text_section(tmp_path, section)
    assert read_text_section(tmp_path) == section
    assert [name for name, value in as_plain(section.text).items() if value] == [key]
    assert section.languages == {"source_language": "ro", "target_language": "en"}
    assert dataclasses.replace(section, text=TextConfig()) != section
