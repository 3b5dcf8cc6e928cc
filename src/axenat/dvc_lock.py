"""What dvc.lock and data.dvc say that results are, and what they are: sums of files, and of the files in folders."""

import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axenat.dvc_command import dvc
from axenat.files import UserError, read_mapping, require
from axenat.notes import was_written_since


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    path: str
    expected: str | None  # None: there should be no such file
    found: str | None  # None: there is no such file

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected or 'no file'}, found {self.found or 'no file'}"


def recorded(lock: Path, data: Path | None = None) -> dict[str, str]:
    """The md5 of each out by its path; of a folder with the ending `.dir`, as DVC writes it."""
    outs = [*outs_by_stage(lock).values(), *([_outs(data, read_mapping(data, "outs"))] if data else [])]
    return {path: md5 for one in outs for path, md5 in one.items()}


def outs_by_stage(lock: Path) -> dict[str, dict[str, str]]:
    stages = require(lock, read_mapping(lock), "stages")["stages"]
    return {str(name): _outs(lock, stage) for name, stage in require(lock, stages).items()}


def _outs(where: Path, stage: Any) -> dict[str, str]:
    outs = require(where, stage).get("outs", [])
    if not isinstance(outs, list) or not all(isinstance(out, Mapping) and "path" in out for out in outs):
        raise UserError(f"{where}: outs must be a list of paths and sums, as DVC writes it")
    return {str(out["path"]): str(out["md5"]) for out in outs if "md5" in out}


def changed_by_hand(outs: Mapping[str, str]) -> list[str]:
    """Files that are not as recorded, and that somebody has written to after the job that made them.

    Not those whose content DVC has kept: it gives files new times, and the lock may be another than when it did."""
    found = [one for one in differences(outs, ignored=frozenset()) if one.expected and one.found]
    return [
        one.path
        for one in found
        if Path(one.path).is_file() and was_written_since(one.path) and not _object(str(one.found)).exists()
    ]


def differences(outs: Mapping[str, str], ignored: frozenset[str] | None = None) -> Iterator[Difference]:
    """Of files first; a folder whose listing is in DVC's cache is told file by file, another as a whole.

    `ignored` are the files that DVC does not look at; None: DVC is asked."""
    if ignored is None:
        ignored = ignored_in(path for path, md5 in outs.items() if md5.endswith(".dir"))
    for path, expected in outs.items():
        if not expected.endswith(".dir"):
            found = md5_of(Path(path))
            if found != expected:
                yield Difference(path=path, expected=expected, found=found)
            continue
        there = listing_of(Path(path), ignored)
        if (found := md5_of_listing(there) if there else None) != expected:
            yield from _inside(path, expected, found, there)


def _inside(folder: str, expected: str, found: str | None, there: Mapping[str, str]) -> Iterator[Difference]:
    listing = _cached_listing(expected)
    if listing is None or not there:
        yield Difference(path=folder, expected=expected, found=found)
        return
    for name in sorted(listing.keys() | there.keys()):
        if listing.get(name) != there.get(name):
            yield Difference(path=f"{folder}/{name}", expected=listing.get(name), found=there.get(name))


def md5_of(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def listing_of(folder: Path, ignored: frozenset[str]) -> dict[str, str]:
    """The md5 of each file in a folder that DVC would look at."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and str(path) not in ignored]
    return {path.relative_to(folder).as_posix(): md5_of(path) or "" for path in files}


def md5_of_listing(listing: Mapping[str, str]) -> str:
    """As DVC sums up a folder: the md5 of the JSON of its sorted listing."""
    rows = [{"md5": md5, "relpath": name} for name, md5 in sorted(listing.items())]
    return hashlib.md5(json.dumps(rows).encode(), usedforsecurity=False).hexdigest() + ".dir"


def _cached_listing(md5: str) -> dict[str, str] | None:
    path = _object(md5)
    if not path.exists():
        return None
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return {row["relpath"]: row["md5"] for row in rows}


def _object(md5: str) -> Path:
    """Where DVC keeps a content."""
    return _cache(os.getcwd()) / "files" / "md5" / md5[:2] / md5[2:]


@functools.cache
def _cache(repository: str) -> Path:
    return Path(repository) / dvc("cache", "dir").strip()


def ignored_in(folders: Iterable[str]) -> frozenset[str]:
    """The files in these folders that .dvcignore leaves out."""
    files = "\n".join(str(path) for folder in folders for path in Path(folder).rglob("*") if path.is_file())
    if not files:
        return frozenset()
    return frozenset(dvc("check-ignore", "--stdin", stdin=files, allowed=(0, 1)).splitlines())
