"""The members of tar and zip archives as streams; what an archive says of its sizes is not believed, but counted."""

import gzip
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from axenat.files import UserError

ALLOWANCE = 64 << 20
RATIO = 50  # text shrinks to a third or a tenth; a hundredth is a trap
LONGEST_HEADER = 1 << 16  # of names and attributes, which are read into memory
LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
ZIP_HEADER = 30  # bytes before each entry, and its name
HEAD = 512  # bytes that tell what a file is
NOT_SUPPORTED = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7z", b"\x28\xb5\x2f\xfd": "zstd"}


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an archive; `problem` says why it is not a plain file, if it is not one."""

    name: str
    is_folder: bool
    problem: str
    content: Callable[[], Readable]


class Budget:
    """How many bytes may come out of an archive, counted as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.most = self.left = ALLOWANCE + RATIO * path.stat().st_size

    def spend(self, number: int) -> None:
        self.left -= number
        if self.left < 0:
            raise UserError(
                f"{self.path}: unpacks to more than {self.most} bytes, {RATIO} times its size and {ALLOWANCE} more; "
                "an archive of text does not"
            )


class Counted:
    """A stream whose bytes are paid for."""

    def __init__(self, stream: Readable, budget: Budget) -> None:
        self.stream, self.budget = stream, budget

    def read(self, size: int, /) -> bytes:
        block = self.stream.read(size)
        self.budget.spend(len(block))
        return block


def kind_of(path: Path) -> str:
    """By its first bytes, because a name may say anything: zip, tar, tar.gz, gz, or file."""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        return "zip"
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(path) as stream:
            return "tar.gz" if _is_tar(stream.read(HEAD)) else "gz"
    for magic, name in NOT_SUPPORTED.items():
        if head.startswith(magic):
            raise UserError(f"{path}: is compressed with {name}; allowed are tar, tar.gz, zip, gz and plain files")
    return "tar" if _is_tar(head) else "file"


def _is_tar(head: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return head == bytes(HEAD)  # a tar without members
    return True


def tar_members(path: Path, compressed: bool, budget: Budget) -> Iterator[Member]:
    """In the order of the archive; the content of each can be read only before the next is asked for."""
    with gzip.open(path) if compressed else path.open("rb") as stream:
        counted: Any = Counted(stream, budget)
        with tarfile.open(fileobj=counted, mode="r|", tarinfo=_Header) as archive:
            while header := archive.next():
                archive.members.clear()  # type: ignore[attr-defined]  # else they add up in memory
                content = partial(_tar_content, archive, header)
                yield Member(header.name, header.isdir(), _tar_problem(header), content)
        while counted.read(1 << 20):  # to the end, where gzip keeps its checksum
            pass


class _Header(tarfile.TarInfo):
    """Damage that tarfile takes for the end of the archive is an error, and so are headers made to fill memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        if not buf:
            raise EOFError("no mark at the end")
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if bytes(buf) == bytes(HEAD):
                raise
            raise tarfile.ReadError(str(error)) from None
        if header.size < 0 or (header.type in LONG_HEADERS and header.size > LONGEST_HEADER):
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header


def _tar_content(archive: tarfile.TarFile, header: tarfile.TarInfo) -> Readable:
    content = archive.extractfile(header)
    assert content is not None  # plain files have content
    return content


def _tar_problem(header: tarfile.TarInfo) -> str:
    if header.issym() or header.islnk():
        return "is a link"
    if header.issparse():
        return "is a sparse file"
    return "" if header.isreg() else "is a device or a pipe"


def zip_members(path: Path, budget: Budget) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        _refuse_overlaps(path, archive)
        for entry in archive.infolist():
            content = partial(_zip_content, archive, entry, budget)
            yield Member(entry.filename, entry.is_dir(), _zip_problem(entry), content)


def _refuse_overlaps(path: Path, archive: zipfile.ZipFile) -> None:
    """Entries that share their bytes make a small file unpack to a huge one."""
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    starts = [*(entry.header_offset for entry in entries), archive.start_dir]
    for entry, (start, following) in zip(entries, pairwise(starts), strict=True):
        if start + ZIP_HEADER + entry.compress_size > following:
            raise UserError(f"{path}: {entry.filename} shares its bytes with other members, which no honest zip does")


def _zip_content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, budget: Budget) -> Readable:
    return Counted(archive.open(entry), budget)


def _zip_problem(entry: zipfile.ZipInfo) -> str:
    if entry.flag_bits & 1:
        return "is encrypted"
    kind = stat.S_IFMT(entry.external_attr >> 16)  # zips made on Unix have it, others have 0 there
    if kind == stat.S_IFLNK:
        return "is a link"
    return "" if kind in (0, stat.S_IFREG) else "is a device or a pipe"
