"""`axenat download` of a published corpus: every line of every part in its place, on its side, or nothing at all."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from axenat import cli
from axenat.files import read_lines, write_yaml
from axenat.study import parse_study
from tests.studies import study

LANGUAGES = ("en", "de")


def lines_of(name: str, language: str, number: int) -> list[str]:
    """No line twice in the whole corpus."""
    return [f"{name} {language} {place}" for place in range(number)]


def text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def sgm(lines: list[str]) -> bytes:
    return text([f'<seg id="{place}">{line}</seg>' for place, line in enumerate(lines, start=1)])


def tmx(sides: dict[str, list[str]]) -> bytes:
    units = [
        "".join(
            f'<tuv xml:lang="{language}"><seg>{line}</seg></tuv>' for language, line in zip(sides, pair, strict=True)
        )
        for pair in zip(*sides.values(), strict=True)
    ]
    return f"<tmx><body>{''.join(f'<tu>{unit}</tu>' for unit in units)}</body></tmx>".encode()


def tar(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
    return stream.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


# Members lie in another order than they are wanted, the target first, and beside those that nobody wants.
BOOKS = {f"books/b{number}.{language}": text(lines_of(f"b{number}", language, 2 + number % 3))
         for number in (10, 2, 1) for language in ("de", "en")}  # fmt: skip
SETS = {f"sets/{name}.{language}.sgm": sgm(lines_of(name, language, number))
        for name, number in (("dev", 4), ("newstest", 5), ("other", 6)) for language in ("de", "en")}  # fmt: skip
CONTENT = {
    "books": ("books.tgz", tar(BOOKS | {"books/notes.txt": b"not asked for\n"})),
    "sets": ("sets.zip", zipped(SETS)),
    "memory": ("memory.tmx.gz", gzip.compress(tmx({side: lines_of("memory", side, 3) for side in ("de", "en")}))),
}
# In neither the order of the alphabet nor that of the archives.
PARTS = {
    "talks": {"files": dict.fromkeys(LANGUAGES, "memory"), "format": "tmx"},
    "books": {"files": {side: f"books:books/b*.{side}" for side in LANGUAGES}},
}
TRAIN = ["talks", "books"]


def recipe(folder: Path, content: dict[str, tuple[str, bytes]]) -> dict[str, Any]:
    """What fits these archives, which are written below the folder."""
    archives = {}
    for name, (file, data) in content.items():
        path = folder / "data/archives/host/path" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        sums = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        archives[name] = {"addresses": [f"http://host/path/{file}"], **sums}
    sets = {
        name: {
            "files": {
                direction: {side: f"sets:sets/{name}.{side}.sgm" for side in LANGUAGES}
                for direction in ("en-de", "de-en")
            }
        }
        for name in ("dev", "newstest", "other")
    }
    about = {"title": "small", "languages": list(LANGUAGES), "train": TRAIN, "valid": "dev", "test": "newstest"}
    return {**about, "archives": archives, "parts": PARTS, "sets": sets}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def download(
    here: Path, split: str, languages: tuple[str, str] = LANGUAGES, content: dict[str, tuple[str, bytes]] = CONTENT,
    **corpus: Any,
) -> int:  # fmt: skip
    """With the configuration that the workflow writes for it."""
    write_yaml(here / "recipe.yaml", recipe(here, content))
    source, target = languages
    corpus = {"source_language": source, "target_language": target, "recipe": "recipe.yaml", **corpus}
    section = parse_study(study(corpora__own=corpus)).section("corpora", "own", f"download-{split}")
    write_yaml(here / "download.yaml", section)
    return cli.main(["download", "--config", "download.yaml", "--out", "out"])


EXPECTED = {
    "train": [("memory", 3), ("b1", 3), ("b2", 4), ("b10", 3)],
    "valid": [("dev", 4)],
    "test": [("newstest", 5)],
}


@pytest.mark.parametrize("languages", [("en", "de"), ("de", "en")], ids="-".join)
@pytest.mark.parametrize("split", EXPECTED)
def test_parts_come_in_the_order_of_the_configuration_line_by_line_on_their_own_side(here, split, languages) -> None:
    assert download(here, split, languages) == 0
    assert {path.name for path in (here / "out").iterdir()} == {f"{split}.{one}" for one in (*languages, "json")}
    for language in languages:
        expected = [line for name, number in EXPECTED[split] for line in lines_of(name, language, number)]
        assert read_lines(here / "out" / f"{split}.{language}") == expected


def test_a_study_that_names_parts_and_sets_gets_these_in_its_own_order(here) -> None:
    choice = {"train_parts": ["books", "talks"], "valid_set": "other", "test_set": "dev"}
    wanted = {"train": ("b1", "b2", "b10", "memory"), "valid": ("other",), "test": ("dev",)}
    for split, names in wanted.items():
        assert download(here, split, **choice) == 0
        found = [line.split()[0] for line in read_lines(here / f"out/{split}.de")]
        assert tuple(dict.fromkeys(found)) == names
    counted = json.loads((here / "out/train.json").read_text())["parts"]
    assert {name: part["pairs"] for name, part in counted.items()} == {"books": 10, "talks": 3}


@pytest.mark.parametrize("damaged", [*CONTENT, "none"])
def test_an_archive_with_another_sum_is_refused_by_the_splits_that_read_it_before_a_line_is_written(
    here, capsys, damaged
) -> None:
    read_by = {"books": {"train"}, "memory": {"train"}, "sets": {"valid", "test"}, "none": set()}
    for split in ("train", "valid", "test"):
        assert download(here, split) == 0
        for path in (here / "out").iterdir():
            path.unlink()
        if damaged != "none":
            path = here / "data/archives/host/path" / CONTENT[damaged][0]
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)
        code = cli.main(["download", "--config", "download.yaml", "--out", "out"])
        said = capsys.readouterr().err
        refused = split in read_by[damaged]
        assert code == (2 if refused else 0)
        assert ("changed under the recipe (expected sha256" in said) == refused
        assert bool(list((here / "out").iterdir())) != refused


@pytest.mark.parametrize("name", ["../escaped", "books/../../escaped", "/escaped", "books\\..\\escaped"])
@pytest.mark.parametrize("form", ["tar", "zip"])
def test_a_member_that_leads_out_of_its_folder_condemns_its_archive_although_nobody_wants_it(
    here, capsys, form, name
) -> None:
    members = BOOKS | {name: b"escaped\n"}
    data = tar(members) if form == "tar" else zipped(members)
    assert download(here, "train", content=CONTENT | {"books": ("books.tgz", data)}) == 2
    assert "leads out of the folder" in capsys.readouterr().err
    assert not list(here.parent.rglob("escaped")) and not [*(here / "out").glob("train.*")]


def test_sides_of_unlike_length_are_refused_and_named(here, capsys) -> None:
    shorter = BOOKS | {"books/b2.de": text(lines_of("b2", "de", 3))}
    assert download(here, "train", content=CONTENT | {"books": ("books.tgz", tar(shorter))}) == 2
    assert "b2.de ends before line 4 of b2.en" in capsys.readouterr().err
    assert not [*(here / "out").glob("train.*")]
