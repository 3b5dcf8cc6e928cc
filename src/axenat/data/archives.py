"""Files out of archives: only those asked for, in a stated order, and all of them or none."""

import difflib
import gzip
import lzma
import os
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from axenat.data.members import Budget, Counted, Member, Readable, kind_of, tar_members, zip_members
from axenat.files import UserError, sync_directory, told_if_full

BLOCK = 1 << 20
NAMES_KEPT = 10_000  # to tell what there is instead of what was asked for
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,  # a compression that zipfile does not know
    RecursionError,  # headers of headers of headers
    ValueError,  # numbers and names that are none
)


def extract(path: Path, patterns: Sequence[str], into: Path) -> list[Path]:
    """The members that match, below `into`: pattern by pattern, and in natural order where several match one.

    A star stays within one folder, as in a shell. Without patterns, the file itself is taken, unpacked if it is a .gz.
    """
    return extract_each(path, [patterns], into)[0]


def extract_each(path: Path, groups: Sequence[Sequence[str]], into: Path) -> list[list[Path]]:
    """The same for several groups of patterns, with the archive read once."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    wanted = [group for group in groups if group]
    with _all_or_nothing(into) as folder, told_if_full(into, "make room and run the same command again"), _damage(path):
        found = iter(_members(path, wanted, folder) if wanted else [])
        single = [_single(path, folder)] if len(wanted) < len(groups) else []
    return [[into / name for name in (next(found) if group else single)] for group in groups]


def _members(path: Path, groups: Sequence[Sequence[str]], folder: Path) -> list[list[str]]:
    kind, budget = kind_of(path), Budget(path)
    patterns = [pattern for group in groups for pattern in group]
    if kind == "zip":
        members = zip_members(path, budget)
    elif kind in ("tar", "tar.gz"):
        members = tar_members(path, kind == "tar.gz", budget)
    else:
        raise UserError(f"{path}: is no archive, so {', '.join(patterns)} cannot be in it; ask for the file alone")
    written: set[str] = set()
    others: list[str] = []
    for member in members:
        name = _inside(path, member.name)
        if member.is_folder or not any(_matches(name, pattern) for pattern in patterns):
            if not member.is_folder and len(others) < NAMES_KEPT:
                others.append(name)
            continue
        _refuse(path, name, member, written)
        written.add(name)
        _write(path, name, folder, member.content())
    return [_in_order(path, group, written, others) for group in groups]


def _single(path: Path, folder: Path) -> str:
    kind = kind_of(path)
    if kind not in ("gz", "file"):
        raise UserError(f"{path}: is an archive of files; say which of its members are wanted")
    name = path.name.removesuffix(".gz") if kind == "gz" else path.name
    with gzip.open(path) if kind == "gz" else path.open("rb") as stream:
        _write(path, name, folder, Counted(stream, Budget(path)))
    return name


def _inside(path: Path, name: str) -> str:
    """The name below the folder, which it may not leave, whether anybody asks for the member or not."""
    steps = re.split(r"[/\\]", name)
    if steps[0] == "" or ".." in steps or re.match(r"[A-Za-z]:", name):
        raise UserError(f"{path}: the member {name!r} leads out of the folder; such an archive is not unpacked")
    return "/".join(step for step in name.split("/") if step not in ("", "."))


def _matches(name: str, pattern: str) -> bool:
    steps, globs = name.split("/"), pattern.split("/")
    within = len(steps) == len(globs) and all(map(fnmatchcase, steps, globs))
    return within or name == pattern  # a name with brackets is not always a glob of itself


def _refuse(path: Path, name: str, member: Member, written: set[str]) -> None:
    if member.problem:
        raise UserError(f"{path}: {name} {member.problem}; only plain files are unpacked")
    if name in written:
        raise UserError(f"{path}: {name} is there twice, and nothing tells which one is meant")
    if not name.isprintable():
        raise UserError(f"{path}: {name!r} has characters that do not belong in the name of a file")


def _write(path: Path, name: str, folder: Path, content: Readable) -> None:
    target = folder / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stream = target.open("xb")
    except (FileExistsError, NotADirectoryError):
        raise UserError(f"{path}: {name} is both a file and a folder") from None
    with stream:
        while block := content.read(BLOCK):
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())


def _in_order(path: Path, patterns: Sequence[str], written: set[str], others: list[str]) -> list[str]:
    ordered: dict[str, None] = {}  # a set that keeps its order
    for pattern in patterns:
        matching = [name for name in written if _matches(name, pattern)]
        if not matching:
            known = sorted([*others, *written], key=_natural)
            near = difflib.get_close_matches(pattern, known, n=3) or known[:3]
            there = f"there is {', '.join(near)}" if near else "it has none at all"
            raise UserError(f"{path}: has no member {pattern}; {there}")
        ordered |= dict.fromkeys(sorted(matching, key=_natural))
    return list(ordered)


def _natural(name: str) -> list[tuple[int, str]]:
    """Book2 before Book10: digits compare as numbers, first by how many there are."""
    pieces = re.split(r"([0-9]+)", name)
    numbers = (
        (len(piece.lstrip("0")), piece.lstrip("0")) if number % 2 else (0, piece) for number, piece in enumerate(pieces)
    )
    return [*numbers, (0, name)]


@contextmanager
def _all_or_nothing(into: Path) -> Iterator[Path]:
    """A folder beside `into` whose files move there once all are on disk; whatever fails, `into` is as it was."""
    if into.exists() and not into.is_dir():
        raise UserError(f"{into}: is a file, expected a folder or nothing")
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{into.name}.", suffix=".tmp", dir=into.parent) as temporary:
        folder = Path(temporary) / "files"  # with the rights of any folder, which a temporary one lacks
        folder.mkdir()
        yield folder
        if not into.exists():
            os.rename(folder, into)
        else:
            for file in sorted(path for path in folder.rglob("*") if path.is_file()):
                target = into / file.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(file, target)
        sync_directory(into)
        sync_directory(into.parent)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of the archive
            raise
        reason = " ".join(str(error).split()) or "unreadable"
        raise UserError(f"{path}: is damaged or cut short ({reason}); move it away and fetch it again") from None
