"""Every key of a corpus is in the files of the stages that read it and in no other, and changes what they write."""

from typing import Any

import pytest

from axenat.corpus_config import SPLITS, CleanConfig, CorpusConfig, GrammarConfig, SubwordsConfig, TextConfig
from axenat.files import write_lines
from axenat.records import merge
from tests.support.wiring import keys_of, others
from tests.support.wiring_corpus import made_of, study_of, write_texts

STAGES = (*(f"{stage}-{split}" for stage in ("download", "clean") for split in SPLITS), "subwords", "origin")
DOWNLOAD, CLEAN = ({f"{stage}-{split}" for split in SPLITS} for stage in ("download", "clean"))
HELD_OUT = DOWNLOAD - {"download-train"}
SECTIONS = {"clean": CleanConfig, "text": TextConfig, "subwords": SubwordsConfig, "grammar": GrammarConfig}
OWN = {
    "source_language": "en",
    "target_language": "ro",
    "references": 1,
    "text": {},
    "clean": {"min_length": 2, "max_length": 10, "max_ratio": 3.0},
    "subwords": {"merges": 20, "joint": False, "min_count": 3, "max_vocabulary": 25, "vocabulary_threshold": 4},
}
GRAMMAR = {
    "source_language": "en",
    "target_language": "de",
    "grammar": {"seed": 3, "train": 20, "valid": 5, "test": 4},
    "references": 2,
    "judged": True,
    "subwords": {"merges": 20},
}
# Which stages have the key in their files. A key of a section has its own line only where it differs from its section.
READ_BY: dict[str, set[str]] = {
    "grammar": DOWNLOAD,
    "references": DOWNLOAD,
    "judged": DOWNLOAD,
    "clean": {"clean-train"},
    "text": {*CLEAN, "subwords"},
    "text.truecase": {"subwords"},
    "subwords": {"subwords"},
    "source_language": {*DOWNLOAD, *CLEAN, "subwords"},
    "target_language": {*DOWNLOAD, *CLEAN, "subwords"},
    "folder": DOWNLOAD,
}
# Which of them write something else, where not all do: the grammar draws test first, and train last.
CHANGES: dict[str, set[str]] = {
    "own.references": HELD_OUT,
    "own.judged": HELD_OUT,
    "grammar.judged": HELD_OUT,
    "grammar.grammar.train": {"download-train"},
    "grammar.grammar.valid": DOWNLOAD - {"download-test"},
}
ELSEWHERE = ("recipe", "train_parts", "valid_set", "test_set", "distil", "analysis")


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Both corpora, and what their stages make of them before anything is changed."""
    folder = tmp_path_factory.mktemp("corpora")
    write_texts(folder / "texts")
    for path in [*(folder / "texts").iterdir()]:  # in further languages, and with one more line
        for old, new in ((".en", ".fr"), (".ro", ".de")):
            write_lines(folder / "texts" / path.name.replace(old, new), path.read_text(encoding="utf-8").splitlines())
    for path in [*(folder / "texts").iterdir()]:
        lines = path.read_text(encoding="utf-8").splitlines()
        write_lines(folder / "more" / path.name, [*lines, lines[0] if "accept" in path.name else "More of it."])
    configs = {"own": {**OWN, "folder": str(folder / "texts")}, "grammar": GRAMMAR}
    return folder, configs, {name: made_of(config, folder / name) for name, config in configs.items()}


def cases() -> list[tuple[str, str, Any]]:
    """Corpus, key and another value, of each key that one of the two can have."""
    found: list[tuple[str, str, Any]] = []
    for section, kind in SECTIONS.items():
        corpus = "grammar" if section == "grammar" else "own"
        base = {"own": OWN, "grammar": GRAMMAR}[corpus][section]
        found += [(corpus, f"{section}.{key}", value) for key in keys_of(kind) for value in others(kind, base, key)]
    found += [("own", "references", 2), ("grammar", "references", 3)]
    found += [("own", "judged", True), ("grammar", "judged", False), ("own", "folder", "more")]
    return [*found, ("own", "source_language", "fr"), ("own", "target_language", "de")]


def resolved(corpus: dict[str, Any]) -> dict[str, Any]:
    study = study_of(corpus)
    return {stage: study.section("corpora", "own", stage) for stage in (*STAGES, "distil", "analysis")}


@pytest.mark.parametrize(("name", "key", "value"), cases(), ids=lambda value: str(value))
def test_a_key_is_in_the_files_of_the_stages_that_read_it_and_changes_what_they_write(
    corpora, tmp_path, name, key, value
) -> None:
    folder, configs, before = corpora
    value = str(folder / value) if key == "folder" else value
    section, _, inner = key.partition(".")
    changed = merge(configs[name], {section: {inner: value} if inner else value})
    readers = READ_BY.get(key, READ_BY[section])
    if name == "own" and key in ("references", "judged"):
        readers = HELD_OUT
    first, second = resolved(configs[name]), resolved(changed)
    assert {stage for stage in first if first[stage] != second[stage]} == readers
    after = made_of(changed, tmp_path / "made")
    written = {stage for stage in after if after[stage] != before[name][stage]}
    stages = CHANGES.get(f"{name}.{key}", readers)
    assert stages <= written, f"{key}: {', '.join(sorted(stages - written))} write the same with {value!r}"
    assert written & set(STAGES) <= _below(stages), f"{key}: changed what is made before it"


def _below(stages: set[str]) -> set[str]:
    """These stages, and those that read what they write."""
    below = set(stages)
    below |= {f"clean-{stage.partition('-')[2]}" for stage in stages & DOWNLOAD}
    return below | ({"subwords"} if "clean-train" in below else set())


def test_every_key_of_a_corpus_is_tried() -> None:
    tried = {key.partition(".")[0] for _, key, _ in cases()} | {*ELSEWHERE}
    assert [f"CorpusConfig.{key}: nothing notices it" for key in keys_of(CorpusConfig) if key not in tried] == []
    for section, kind in SECTIONS.items():
        keys = {key.partition(".")[2] for _, key, _ in cases() if key.startswith(f"{section}.")}
        assert [f"{section}.{key}: add a value to try" for key in keys_of(kind) if key not in keys] == []
