"""One file of a published corpus on the web: its addresses, what is known of its bytes, and its place on disk."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from axenat.records import ConfigError, at_least

SUMS = {"sha256": 64, "md5": 32}  # hexadecimal digits


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """One file on the web. What is known of it is checked before anything reads it."""

    addresses: tuple[str, ...]  # all of the same bytes; the first one also gives the file its place
    bytes: int | None = None
    sha256: str | None = None
    md5: str | None = None

    def __post_init__(self) -> None:
        if not self.addresses:
            raise ConfigError("addresses must hold at least one")
        for address in self.addresses:
            if not _is_on_the_web(address):
                raise ConfigError(f"addresses must be of files on the web (http or https), got {address!r}")
        if not (self.sha256 or self.md5):
            raise ConfigError("a sum is missing; give sha256 or md5")
        for kind, digits in SUMS.items():
            value = getattr(self, kind)
            if value is not None and not re.fullmatch(f"[0-9a-f]{{{digits}}}", value):
                raise ConfigError(f"{kind} must be {digits} hexadecimal digits in lower case, got {value!r}")
        if self.bytes is not None:
            at_least("bytes", self.bytes, 1)

    @property
    def place(self) -> str:
        """Below data/archives/ and in a mirror folder: host and path of the first address."""
        return place_of(self.addresses[0])


def place_of(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.hostname}{parts.path}" + (f"?{parts.query}" if parts.query else "")


def _is_on_the_web(address: str) -> bool:
    """Names a file below its host whose place never leads out of the folder that it is in."""
    try:
        parts, names = urlsplit(address), place_of(address).split("/")
        host = parts.port != 0 and parts.hostname  # whether a port is a number shows when it is read
    except ValueError:
        return False
    below = len(names) > 1 and names[-1] not in ("", ".") and ".." not in names
    return parts.scheme in ("http", "https") and bool(host) and below and address.isprintable()


def check_places(archives: Mapping[str, Archive]) -> None:
    """No archive may lie where another one does, or its download, or below that."""
    for (one, first), (other, second) in permutations(archives.items(), 2):
        for taken in (first.place, f"{first.place}.part", f"{first.place}.part.json"):
            if PurePosixPath(second.place).is_relative_to(taken):
                raise ConfigError(f"archives.{other} would lie at {second.place}, but archives.{one} takes {taken}")
