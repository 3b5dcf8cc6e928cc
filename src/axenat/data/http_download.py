"""One address into one file: gone on with after a break, tried again with patience, and never longer than said."""

import logging
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import requests

from axenat import __version__
from axenat.data.web import AddressError, BreakError, Patience, Session, ask, pieces, status_words, whole_number
from axenat.files import UserError, read_json, told_if_full, without_user, write_json
from axenat.progress import in_bytes

log = logging.getLogger(__name__)
HEADWAY = 1 << 10  # each so many new bytes pay for one more attempt, so that a few at a time do not go on for ever
MOST_UNTOLD = 4 << 30  # bytes of a file whose size neither its recipe nor its server tells
ROOM_ADVICE = "make room and run the same command again"


class StoppedError(Exception):
    """Somebody asked all downloads to end."""


class EndlessError(AddressError):
    """Perhaps it never ends."""


class Part:
    """The bytes so far, beside the file that they will be, and a record of where they are from.

    `advance` is told how many bytes more are there, or fewer after a false start; `expect`, how many it will be.
    """

    def __init__(self, path: Path, advance: Callable[[int], None], expect: Callable[[int], None]) -> None:
        self.whole = path
        self.path = path.with_name(f"{path.name}.part")
        self.record = path.with_name(f"{path.name}.part.json")
        self.advance, self.expect = advance, expect
        advance(self.size)

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def origin(self) -> dict[str, Any]:
        """Its address and validator; a record that cannot be read vouches for nothing."""
        try:
            values = read_json(self.record)
        except UserError:
            return {}
        return values if isinstance(values, dict) else {}

    def begin(self, address: str, validator: str | None) -> None:
        """In this order: killed in between, there are no bytes that the record does not speak of."""
        self.remove()
        write_json(self.record, {"address": address, "validator": validator})

    def append(self, blocks: Iterator[bytes]) -> None:
        with self.path.open("ab", buffering=0) as stream:
            for block in blocks:
                rest = memoryview(block)
                while rest:
                    rest = rest[stream.write(rest) :]
                self.advance(len(block))

    def remove(self) -> None:
        self.advance(-self.size)
        self.path.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)


def download(address: str, part: Part, size: int | None, patience: Patience, stopped: threading.Event) -> bool:
    """All the bytes of `address` in `part`; true if that is certain: in one piece, of the length that was told."""
    failures, attempts, begun, joined = 0, 0, part.size, part.size > 0
    most, told = begun, size is not None
    if size is not None:
        check_room(part.path, size - part.size)
    with Session() as session:
        while not (size and part.size == size):
            try:
                with told_if_full(part.path, ROOM_ADVICE):
                    told = _attempt(session, address, part, size, patience, stopped) is not None
                break
            except BreakError as reason:
                failures, attempts = 1 if part.size > most else failures + 1, attempts + 1
                most = max(most, part.size)
                if failures >= patience.attempts or attempts >= patience.attempts + (most - begun) // HEADWAY:
                    raise AddressError(f"{reason}, in {attempts} attempts") from None
                wait = patience.wait(failures, reason.wait)
                log.info("%s: %s; attempt %d in %.1f s", without_user(address), reason, attempts + 1, wait)
                if stopped.wait(wait):
                    raise StoppedError from None
                joined = part.size > 0
    return told and not joined


def _attempt(
    session: Session, address: str, part: Part, size: int | None, patience: Patience, stopped: threading.Event
) -> int | None:
    """Gives the size of the whole, if anybody tells it."""
    headers = {"Accept-Encoding": "identity", "User-Agent": f"axenat/{__version__}"}
    headers |= _continuation(part, address, size)
    with ask(session, address, headers, patience) as response:
        start, total = _span(response, part, headers)
        if None not in (size, total) and total != size:
            raise AddressError(f"offers {total} bytes, but the recipe says {size}")
        if size is None and total is not None:
            check_room(part.path, total - start)
            part.expect(total)
        total = size if total is None else total
        if start == 0:
            part.begin(address, _validator(response))
        if start == 0 or start != total:
            try:
                part.append(_expected(pieces(response, patience), start, total, stopped))
            except EndlessError:
                part.remove()
                raise
        return total


def check_room(path: Path, needed: int) -> None:
    """Better told now than after hours, although others may fill the disk meanwhile."""
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise UserError(f"{path}: needs {in_bytes(needed)} but its disk has {in_bytes(free)} left; {ROOM_ADVICE}")


def _continuation(part: Part, address: str, size: int | None) -> dict[str, str]:
    """The headers that ask for the missing bytes only.

    All addresses of an archive have the same bytes, so another one may go on if their number is known and compared.
    """
    have, origin = part.size, part.origin()
    same = origin.get("address") == address
    if not have or not origin or not (same or size) or (size is not None and have > size):
        return {}
    validator = origin.get("validator") if same else None
    return {"Range": f"bytes={have}-"} | ({"If-Range": str(validator)} if validator else {})


def _validator(response: requests.Response) -> str | None:
    """What If-Range may carry: a strong entity tag, else a date."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def _span(response: requests.Response, part: Part, headers: dict[str, str]) -> tuple[int, int | None]:
    """Where in the file the body starts, and how long the file is; an answer that does not fit ends the part."""
    if response.status_code == HTTPStatus.OK:
        return 0, whole_number(response.headers.get("Content-Length", ""))
    if "Range" not in headers:
        raise AddressError(f"{status_words(response.status_code)}, which was not asked for")
    place = re.fullmatch(r"bytes (?:([0-9]+)-[0-9]+|\*)/([0-9]+|\*)", response.headers.get("Content-Range", "").strip())
    start, total = map(whole_number, place.groups("") if place else ("", ""))
    if response.status_code == HTTPStatus.PARTIAL_CONTENT:
        changed = headers.get("If-Range") not in (None, _validator(response)) and _validator(response) is not None
        if start == part.size and not changed:
            return start, total
    elif total == part.size:  # all bytes were there, and none is left to send
        return part.size, total
    part.remove()
    raise BreakError("the bytes that were there do not fit any more", wait=0.0)


def _expected(blocks: Iterator[bytes], start: int, total: int | None, stopped: threading.Event) -> Iterator[bytes]:
    """These blocks, as long as nobody stops them and they make up what was promised."""
    done = start
    for block in blocks:
        done += len(block)
        if total is not None and done > total:
            raise AddressError(f"sends more than the {total} bytes that were expected")
        if done > MOST_UNTOLD and total is None:
            raise EndlessError(f"sends more than {in_bytes(MOST_UNTOLD)} and does not tell how many; the recipe may")
        yield block
        if stopped.is_set():
            raise StoppedError
    if total is not None and done < total:
        raise BreakError(f"the connection broke after {done} of {total} bytes")
