"""Every key of a published corpus changes its text, what people are told of it, or how it is prepared."""

import copy
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from axenat import layout
from axenat.archive import Archive
from axenat.corpus_config import SPLITS, CorpusConfig
from axenat.files import write_yaml
from axenat.recipe import Expected, HeldOut, Part, Published, Recipe, Steps
from axenat.stages.download import Origin
from axenat.study import Study
from tests.support.wiring import keys_of
from tests.support.wiring_corpus import resolve, run, study_of
from tests.test_study import sections

DOWNLOAD = {f"download-{split}" for split in SPLITS}
CLEAN = {f"clean-{split}" for split in SPLITS}
HOST = "https://there.example"


def tar(folder: str) -> bytes:
    """Two parts of text and two sets of SGML, each with lines of its own."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for number, name in enumerate(("one", "two", "early", "late"), start=1):
            for language, line in (("en", "line"), ("zh", "一 行")):
                lines = [f"{folder} {name} {line} {i}" for i in range(number + 1)]
                segments = "".join(f'<seg id="{i}">{text}</seg>\n' for i, text in enumerate(lines, 1))
                sgm = f"<doc>\n{segments}</doc>\n"
                data = (sgm if number > 2 else "".join(f"{text}\n" for text in lines)).encode()
                entry = tarfile.TarInfo(f"{name}.{language}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def files(archive: str, name: str) -> dict[str, str]:
    return {language: f"{archive}:{name}.{language}" for language in ("en", "zh")}


def recipe(archives: dict[str, bytes]) -> dict[str, Any]:
    direction = "en-zh"
    return {
        "title": "A corpus",
        "languages": ["en", "zh"],
        "licence": "free",
        "citation": "nobody",
        "archives": {
            name: {"addresses": [f"{HOST}/{name}.tgz"], "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for name, data in archives.items()
        },
        "parts": {
            "one": {"files": files("here", "one"), "licence": "free"},
            "two": {"files": files("there", "two"), "pairs": 3},
        },
        "sets": {
            "early": {"files": {direction: files("here", "early")}, "pairs": 4},
            "late": {"files": {direction: files("there", "late")}, "sacrebleu": "late"},
        },
        "train": ["one", "two"],
        "valid": "early",
        "test": "late",
        "expected": {"raw": 5, "clean": 4, "source": "this test"},
        "steps": {"text": {"escape": True}, "clean": {"max_length": 70}, "subwords": {"merges": 30}},
    }


TRAIN = {"download-train"}
# Another value of each key, by its path; then the stages whose files it is in, and whether `download` takes it.
CHANGES: dict[str, tuple[Any, set[str], bool]] = {
    "title": ("Another corpus", {"origin"}, True),
    "licence": ("none", {"origin"}, True),
    "citation": ("somebody", {"origin"}, True),
    "train": (["two"], {*TRAIN, "origin"}, True),
    "valid": ("late", {"download-valid", "origin"}, True),
    "test": ("early", {"download-test", "origin"}, True),
    "expected.raw": (6, {"origin"}, True),
    "expected.clean": (3, {"origin"}, True),
    "expected.source": ("another test", {"origin"}, True),
    "steps.text": ({"escape": False}, {*CLEAN, "subwords"}, True),
    "steps.clean": ({"max_length": 60}, {"clean-train"}, True),
    "steps.subwords": ({"merges": 20}, {"subwords"}, True),
    "parts.one.files": (files("there", "one"), TRAIN, True),
    "parts.one.format": ("sgm", TRAIN, False),
    "parts.one.unspace": (["zh"], TRAIN, True),
    "parts.one.pairs": (7, {"origin"}, True),
    "parts.one.licence": ("none", {"origin"}, True),
    "sets.early.files": ({"en-zh": files("there", "early")}, {"download-valid"}, True),
    "sets.early.format": ("text", {"download-valid"}, True),
    "sets.early.pairs": (9, {"origin"}, True),
    "sets.early.sacrebleu": ("late", set(), True),
    "archives.here.addresses": ([f"{HOST}/moved.tgz"], {*TRAIN, "download-valid", "origin"}, False),
    "archives.here.bytes": (1, {*TRAIN, "download-valid"}, False),
    "archives.here.sha256": ("0" * 64, {*TRAIN, "download-valid", "origin"}, False),
    "archives.here.md5": ("0" * 32, {*TRAIN, "download-valid"}, False),
}
PLACES: dict[str, type] = {
    "": Recipe,
    "expected": Expected,
    "steps": Steps,
    "parts.one": Part,
    "sets.early": HeldOut,
    "archives.here": Archive,
}
# What is asked about by the keys inside it; languages are those of the corpus, or it is refused.
WHOLE = {"archives", "parts", "sets", "expected", "steps", "languages"}


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("published")
    archives = {name: tar(name) for name in ("here", "there")}
    for name, data in archives.items():
        (folder / "there.example").mkdir(exist_ok=True)
        (folder / "there.example" / f"{name}.tgz").write_bytes(data)
    return folder, recipe(archives)


def corpus(path: Path, **more: Any) -> Study:
    return study_of({"recipe": str(path), "source_language": "en", "target_language": "zh", **more})


def downloaded(study: Study, archives: Path, out: Path) -> dict[str, Any]:
    """What each split's download writes; None where it refuses."""
    found: dict[str, Any] = {}
    for split in SPLITS:
        config = resolve(study, f"download-{split}", out / f"{split}.yaml")
        code = run("download", config=config, archives=archives, out=out / split)
        written = sorted((out / split).iterdir()) if code == 0 else []
        found[f"download-{split}"] = {path.name: path.read_bytes() for path in written} or None
    return found


def stale(first: Study, second: Study) -> set[str]:
    """Stages of the corpus whose files differ."""
    before, after = sections(first), sections(second)
    return {place[2] for place in before if place[0] == "corpora" and before[place] != after[place]}


@pytest.mark.parametrize("key", CHANGES)
def test_a_key_is_in_the_files_of_its_readers_and_changes_what_is_unpacked(published, tmp_path, key) -> None:
    folder, values = published
    value, stages, is_taken = CHANGES[key]
    changed = copy.deepcopy(values)
    *above, last = key.split(".")
    place = changed
    for name in above:
        place = place[name]
    assert place.get(last) != value
    place[last] = value
    write_yaml(tmp_path / "before.yaml", values)
    write_yaml(tmp_path / "after.yaml", changed)
    first, second = corpus(tmp_path / "before.yaml"), corpus(tmp_path / "after.yaml")
    assert stale(first, second) == stages
    written, now = (downloaded(study, folder, tmp_path / name) for study, name in ((first, "a"), (second, "b")))
    assert None not in written.values()
    assert {stage for stage in written if written[stage] != now[stage]} == stages & DOWNLOAD
    assert (None not in now.values()) == is_taken


def test_every_key_of_a_recipe_is_tried() -> None:
    for place, kind in PLACES.items():
        tried = {key.rpartition(".")[2] for key in CHANGES if key.rpartition(".")[0] == place}
        asked = tried | (WHOLE if kind is Recipe else set())
        assert [f"{kind.__name__}.{key}: add a value to try" for key in keys_of(kind) if key not in asked] == []
    assert {"recipe", "train_parts", "valid_set", "test_set"} <= set(keys_of(CorpusConfig))


@pytest.mark.parametrize(
    ("change", "stages"),
    [
        ({"train_parts": ["two"]}, {*TRAIN, "origin"}),
        ({"valid_set": "late"}, {"download-valid", "origin"}),
        ({"test_set": "early"}, {"download-test", "origin"}),
        ({"recipe": "wmt17-en-zh"}, {*DOWNLOAD, *CLEAN, "subwords", "origin"}),
    ],
)
def test_a_corpus_chooses_from_its_recipe_and_takes_nothing_else_with_it(published, tmp_path, change, stages) -> None:
    write_yaml(tmp_path / "own.yaml", published[1])
    first, second = corpus(tmp_path / "own.yaml"), corpus(tmp_path / "own.yaml", **change)
    assert stale(first, second) == stages
    changed = {
        split for split in SPLITS if layout.archives(first, "own", split) != layout.archives(second, "own", split)
    }
    assert changed == {stage.removeprefix("download-") for stage in stages & DOWNLOAD}


def test_each_split_needs_its_own_archives_and_no_other(published, tmp_path) -> None:
    write_yaml(tmp_path / "own.yaml", published[1])
    study = corpus(tmp_path / "own.yaml", train_parts=["two"])
    there, here = (f"data/archives/there.example/{name}.tgz" for name in ("there", "here"))
    assert [layout.archives(study, "own", split) for split in SPLITS] == [[there], [here], [there]]


def test_what_a_download_is_told_is_all_that_a_study_resolves() -> None:
    """A key more in the one than in the other would be refused, or be missing in silence."""
    own = {"source_language": "en", "target_language": "zh", "folder": "texts"}
    told = {key for split in SPLITS for key in study_of(own).section("corpora", "own", f"download-{split}")}
    assert told | {"published"} == set(keys_of(Origin))
    assert set(keys_of(Published)) == {"parts", "archives"}
