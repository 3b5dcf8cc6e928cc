"""The pairs of a part, in order, and what was odd about them is counted."""

import hashlib
import tarfile
from pathlib import Path

import pytest

from axenat.archive import Archive
from axenat.data import part_text
from axenat.data.archives import extract_each
from axenat.data.part_text import PartText
from axenat.data.unpack import unpack
from axenat.files import read_parallel
from axenat.recipe import Part, Published

UNREADABLE = "\ufffd"


def text_of(folder: Path, *sides: bytes, **options) -> PartText:
    """Of two files that are archives of their own."""
    paths = {name: folder / f"{name}.txt" for name in ("a", "b")}
    for path, side in zip(paths.values(), sides, strict=True):
        path.write_bytes(side)
    return PartText(Part(files={"en": "a", "de": "b"}, **options), paths, ("en", "de"), folder / "scratch")


def test_a_line_is_undecodable_only_if_it_is_not_utf_8(tmp_path) -> None:
    text = text_of(tmp_path, f"one\nwritten so: {UNREADABLE}\nthree\n".encode(), b"eins\nzwei\xff\xe4\ndrei\xfc\n")
    written = f"written so: {UNREADABLE}"
    assert list(text) == [("one", "eins"), (written, f"zwei{UNREADABLE * 2}"), ("three", f"drei{UNREADABLE}")]
    assert (text.num_undecodable, text.num_incomplete) == (2, 0)


def unit(**sides: str) -> str:
    return f"<tu>{''.join(f'<tuv lang={n!r}><seg>{line}</seg></tuv>' for n, line in sides.items())}</tu>"


def test_units_that_lack_a_language_are_counted_and_told_beside_the_pairs(tmp_path) -> None:
    units = unit(en="one", de="eins") + unit(en="two") + unit(de="drei", fr="trois") + unit(en="four", de="vier")
    content = f"<tmx><body>{units}</body></tmx>".encode()
    archive = Archive(addresses=("http://host/a.tmx",), sha256=hashlib.sha256(content).hexdigest())
    (tmp_path / "host").mkdir()
    (tmp_path / archive.place).write_bytes(content)
    part = Part(files={"en": "a", "de": "a"}, format="tmx")
    published = Published(parts={"memory": part}, archives={"a": archive})
    counts = unpack(published, ["train.de", "train.en"], tmp_path, tmp_path / "out")
    assert counts == {"memory": {"pairs": 2, "undecodable": 0, "incomplete": 2}}
    assert read_parallel(tmp_path / "out/train.de", tmp_path / "out/train.en") == (["eins", "vier"], ["one", "four"])


@pytest.mark.parametrize("languages", [("en", "de"), ("de", "en")])
def test_an_archive_with_both_languages_is_read_once(tmp_path, monkeypatch, languages) -> None:
    lines = {"en": ["one", "two"], "de": ["eins", "zwei"]}
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for language, side in lines.items():
            (tmp_path / language).write_text("".join(f"{line}\n" for line in side))
            archive.add(tmp_path / language, f"folder/x.{language}")
    read = []
    monkeypatch.setattr(part_text, "extract_each", lambda path, *rest: read.append(path) or extract_each(path, *rest))
    part = Part(files={language: f"a:folder/x.{language}" for language in lines})
    text = PartText(part, {"a": tmp_path / "a.tgz"}, languages, tmp_path / "scratch")
    assert list(text) == list(zip(*(lines[language] for language in languages), strict=True))
    assert read == [tmp_path / "a.tgz"]
