"""Small archives of the same shape as the published ones, laid out by host and path, with the recipe that fits them.

The recipe is the real one but for sizes, sums and counts, which no small archive can have.
"""

import gzip
import hashlib
import io
import itertools
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from axenat.recipe import FOLDER, archive_of, load_recipe, patterns_of

# Written for this test, in four languages line by line.
SENTENCES = {
    "en": [
        "The committee agreed on {n} amendments.",
        'She said: "It won\'t be easy, but we must try."',
        "In {n}, prices rose by 3.5% (after a quiet year).",
        "The well-known co-operation between both states went on.",
        "Why did the president & his ministers resign?",
        "The hospital in Cluj has {n} beds and a new wing.",
        "Nobody knows what happened after the meeting.",
        "He bought apples, pears and {n} books.",
    ],
    "de": [
        "Der Ausschuss einigte sich auf {n} Änderungsanträge.",
        "Sie sagte: „Es wird nicht leicht, aber wir müssen es versuchen.“",
        "Im Jahr {n} stiegen die Preise um 3,5 % (nach einem ruhigen Jahr).",
        "Die altbekannte Zusammenarbeit der beiden Staaten ging weiter.",
        "Warum traten der Präsident & seine Minister zurück?",
        "Das Krankenhaus in Klausenburg hat {n} Betten und einen neuen Flügel.",
        "Niemand weiß, was nach dem Treffen geschah.",
        "Er kaufte Äpfel, Birnen und {n} Bücher.",
    ],
    "ro": [
        "Comisia a convenit asupra a {n} amendamente.",
        "Ea a spus: „Nu va fi ușor, dar trebuie să încercăm.”",
        "În {n}, preţurile au crescut cu 3,5% (după un an liniştit).",
        "Cooperarea bine-cunoscută dintre cele două state a continuat.",
        "De ce au demisionat președintele & miniștrii săi?",
        "Spitalul din Cluj are {n} de paturi şi o aripă nouă.",
        "Nimeni nu ştie ce s-a întâmplat după întâlnire.",
        "El a cumpărat mere, pere și {n} cărți.",
    ],
    "zh": [
        "委员会就{n}项修正案达成一致。",
        "她说：“这并不容易，但我们必须尝试。”",
        "{n}年，物价上涨了3.5%（在平静的一年之后）。",
        "两国之间众所周知的合作继续进行。",
        "总统和他的部长们为什么辞职？",
        "克卢日的医院有{n}张床位和一座新楼。",
        "没有人知道会议之后发生了什么。",
        "他买了苹果、梨和{n}本书。",
    ],
}
LINES = 24  # of each file


def lines(language: str, start: int, number: int = LINES) -> list[str]:
    some = SENTENCES[language]
    return [some[(start + i) % len(some)].format(n=1000 + start + i) for i in range(number)]


def publish(name: str, mirror: Path) -> Path:
    """Write the archives of a recipe below `mirror`; gives a recipe file that fits them."""
    recipe = load_recipe(name)
    values = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    contents: dict[str, dict[str, bytes]] = {archive: {} for archive in recipe.archives}
    starts = itertools.count(0, LINES)
    for part, entry in values["parts"].items():
        start = next(starts)
        entry["pairs"] = _fill(contents, recipe.parts[part].files, recipe.parts[part].format, start)
        if recipe.parts[part].unspace:
            _space_out(contents, recipe.parts[part].files["zh"])
    for held_out, entry in values["sets"].items():
        start = next(starts)
        for files in recipe.sets[held_out].files.values():
            entry["pairs"] = _fill(contents, files, recipe.sets[held_out].format, start)
    for archive, entry in values["archives"].items():
        data = _packed(recipe.archives[archive].place, contents[archive])
        path = mirror / recipe.archives[archive].place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        entry.pop("md5", None)
        entry.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    raw = sum(values["parts"][part]["pairs"] for part in recipe.train)
    values["expected"] = {"raw": raw, "source": "this test"}
    fitting = mirror / f"{name}.yaml"
    fitting.write_text(yaml.safe_dump(values, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return fitting


def _fill(contents: dict[str, dict[str, bytes]], files: dict[str, str], kind: str, start: int) -> int:
    """Members that the patterns find, with parallel lines; gives their number of pairs."""
    if kind == "tmx":
        archive = archive_of(next(iter(files.values())))
        contents[archive][""] = _tmx({language: lines(language, start) for language in files})
        return LINES
    total = 0
    for language, file in files.items():
        names = [name for pattern in patterns_of(file) for name in _members(pattern)] or [""]
        for number, name in enumerate(names):
            text = lines(language, start + number)
            contents[archive_of(file)][name] = _sgm(text) if kind == "sgm" else "".join(f"{x}\n" for x in text).encode()
        total = LINES * len(names)
    return total


def _members(pattern: str) -> Iterator[str]:
    """Names as published: books are numbered, and Chinese files end in ch or cn."""
    if "Book1[1-9]" in pattern:
        yield from (pattern.replace("Book1[1-9]", f"Book{number}") for number in range(11, 20))
    elif "Book[1-9]" in pattern:
        yield from (pattern.replace("Book[1-9]", f"Book{number}") for number in range(1, 10))
    else:
        yield pattern.replace("*", "part-A").replace("c[hn]", "ch")


def _space_out(contents: dict[str, dict[str, bytes]], file: str) -> None:
    for name in [name for pattern in patterns_of(file) for name in _members(pattern)]:
        text = contents[archive_of(file)][name].decode()
        contents[archive_of(file)][name] = re.sub("(?<=[一-鿿])(?=.)|(?<=.)(?=[一-鿿])", " ", text).encode()


def _sgm(text: list[str]) -> bytes:
    segments = "".join(
        f'<seg id="{number}">{line.replace("&", "&amp;")}</seg>\n' for number, line in enumerate(text, 1)
    )
    return f'<srcset setid="news" srclang="any">\n<doc docid="one">\n<p>\n{segments}</p>\n</doc>\n</srcset>\n'.encode()


def _tmx(sides: dict[str, list[str]]) -> bytes:
    units = "".join(
        "<tu>"
        + "".join(
            f'<tuv xml:lang="{language}"><seg>{side[i].replace("&", "&amp;")}</seg></tuv>'
            for language, side in sides.items()
        )
        + "</tu>\n"
        for i in range(LINES)
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<tmx version="1.4"><header/><body>\n{units}</body></tmx>\n'.encode()
    )


def _packed(place: str, members: dict[str, bytes]) -> bytes:
    """As the address says; with a file beside those asked for, as all real archives have."""
    if place.endswith((".tgz", ".tar.gz")):
        return _tar({"README": b"not asked for\n", **members})
    if place.endswith(".zip"):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in {"README": b"not asked for\n", **members}.items():
                archive.writestr(name, data)
        return stream.getvalue()
    assert place.endswith(".gz") and list(members) == [""], place
    return gzip.compress(members[""])


def _tar(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in members.items():
            entry: Any = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()
