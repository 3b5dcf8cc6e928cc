"""Archives of published corpora: from mirrors or the web, and never under their name before their sums are right."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

from axenat.archive import SUMS, Archive, place_of
from axenat.data.http_download import ROOM_ADVICE, Part, check_room, download
from axenat.data.side_by_side import side_by_side
from axenat.data.web import AddressError, Patience
from axenat.files import UserError, alone, atomic, sync_directory, told_if_full, without_user
from axenat.progress import in_bytes, long_work

log = logging.getLogger(__name__)
MIRROR = "AXENAT_MIRROR"
BLOCK = 1 << 20
PATIENCE = Patience()

Told = Callable[[int], None]


class ChangedError(AddressError):
    """An address gave all its bytes, but they are not those of the recipe."""


def mirrors_from_environment() -> tuple[str, ...]:
    """The folders and http(s) addresses in AXENAT_MIRROR, separated by commas."""
    return tuple(mirror.strip() for mirror in os.environ.get(MIRROR, "").split(",") if mirror.strip())


def check_mirrors(mirrors: Sequence[str]) -> None:
    for mirror in mirrors:
        if not _is_web(mirror) and not Path(mirror).expanduser().is_dir():
            raise UserError(
                f"mirror {without_user(mirror)}: is neither a folder that exists nor an address of http or https"
            )


def fetch(
    archive: Archive,
    folder: Path,
    *,
    mirrors: Sequence[str] = (),
    advance: Told = lambda change: None,
    expect: Told = lambda size: None,
    patience: Patience = PATIENCE,
    stopped: threading.Event | None = None,
) -> Path:
    """The archive at its place below `folder`, with the right size and sums; mirrors are asked before the web.

    `advance` is told how many bytes more are there, or fewer after a false start; `expect`, how many it will be, as
    soon as that is known.
    """
    check_mirrors(mirrors)
    path, begin, how = folder / archive.place, time.monotonic(), ""
    if not path.exists():  # else no lock is needed, and the folder may be read-only
        with _in_turn(path):
            if not path.exists():  # another process may have brought it meanwhile
                how = _obtain(archive, Part(path, advance, expect), mirrors, patience, stopped or threading.Event())
    if not how:
        how = "already there, verified"
        check(archive, path)
        expect(path.stat().st_size)
        advance(path.stat().st_size)
    log.info("%s: %s, %s in %.1f s", archive.place, how, in_bytes(path.stat().st_size), time.monotonic() - begin)
    return path


def check(archive: Archive, path: Path) -> None:
    """An archive that is there is never replaced: whoever changed it may have had a reason."""
    if not path.exists():
        raise UserError(f"{path}: no such file; `axenat fetch` brings it")
    if not path.is_file():
        raise UserError(f"{path}: is no file, but the archive belongs there; move it away")
    if wrong := mismatch(path, archive):
        raise UserError(
            f"{path}: changed under the recipe ({wrong}); move it away to fetch it again, or correct the recipe"
        )


def mismatch(path: Path, archive: Archive) -> str:
    """What the recipe says otherwise, the cheap size first; empty if all is right."""
    with path.open("rb") as stream:
        return _mismatch(archive, path.stat().st_size, iter(lambda: stream.read(BLOCK), b""))


def _mismatch(archive: Archive, size: int, blocks: Iterator[bytes]) -> str:
    if archive.bytes not in (None, size):
        return f"expected {archive.bytes} bytes, found {size}"
    expected = {kind: getattr(archive, kind) for kind in SUMS if getattr(archive, kind)}
    digests = {kind: hashlib.new(kind, usedforsecurity=False) for kind in expected}
    for block in blocks:
        for digest in digests.values():
            digest.update(block)
    for kind, digest in digests.items():
        if digest.hexdigest() != expected[kind]:
            return f"expected {kind} {expected[kind]}, found {digest.hexdigest()}"
    return ""


@contextmanager
def _in_turn(path: Path) -> Iterator[None]:
    """Two processes that want the same archive fetch it once."""
    lock = path.with_name(f".{path.name}.lock")
    with ExitStack() as stack:
        try:
            stack.enter_context(alone(lock, patience=0.0))
        except UserError:
            log.info("%s: another process is fetching it; waiting", path)
            stack.enter_context(alone(lock))
        yield


def _obtain(archive: Archive, part: Part, mirrors: Sequence[str], patience: Patience, stopped: threading.Event) -> str:
    """How the archive came to its place."""
    failures: list[str] = []
    changed = False
    for origin in origins_of(archive, mirrors):
        if isinstance(origin, Path):
            if not origin.is_file():
                continue
            _copy(origin, part, archive)
            part.remove()
            return f"copied from {origin}"
        try:
            _download(origin, part, archive, patience, stopped)
        except AddressError as error:
            failures.append(f"{without_user(origin)}: could not be downloaded ({error})")
            log.info("%s", failures[-1])
            changed = changed or isinstance(error, ChangedError)
            continue
        os.replace(part.path, part.whole)
        sync_directory(part.whole.parent)
        part.record.unlink(missing_ok=True)
        return f"downloaded from {without_user(origin)}"
    places = " or ".join(dict.fromkeys(map(place_of, archive.addresses)))
    missing = [f"{mirror} has no {places}" for mirror in mirrors if not _is_web(mirror)]
    when = "if it changed there, correct the recipe or" if changed else "without a network,"
    advice = f"{'put it into that mirror or ' if missing else ''}set {MIRROR} to a folder laid out by host and path"
    raise UserError(f"{'; '.join([*missing, *failures])}; {when} {advice} that holds {archive.place}")


def origins_of(archive: Archive, mirrors: Sequence[str]) -> Iterator[Path | str]:
    for mirror in mirrors:
        for place in dict.fromkeys(map(place_of, archive.addresses)):
            yield f"{mirror.rstrip('/')}/{quote(place)}" if _is_web(mirror) else Path(mirror).expanduser() / place
    yield from archive.addresses


def _is_web(mirror: str) -> bool:
    return mirror.lower().startswith(("http://", "https://"))


def _copy(origin: Path, part: Part, archive: Archive) -> None:
    """A wrong file in a mirror is refused and not passed over: somebody put it there to be used."""
    path, size = part.whole, origin.stat().st_size
    check_room(path, size)
    part.expect(size)
    with told_if_full(path, ROOM_ADVICE), atomic(path, "wb") as copy, origin.open("rb") as stream:

        def copied() -> Iterator[bytes]:
            while block := stream.read(BLOCK):
                copy.write(block)
                part.advance(len(block))
                yield block

        if wrong := _mismatch(archive, size, copied()):
            raise UserError(
                f"{origin}: is not the archive of the recipe ({wrong}); correct or remove it in the mirror, "
                "or correct the recipe"
            )


def _download(address: str, part: Part, archive: Archive, patience: Patience, stopped: threading.Event) -> None:
    """Into the part, with the right sums; if they are wrong, once more from the start unless all bytes are certain."""
    for last in (False, True):
        certain = download(address, part, archive.bytes, patience, stopped)
        wrong = mismatch(part.path, archive)
        if not wrong:
            with part.path.open("rb") as stream:
                os.fsync(stream.fileno())
            return
        part.remove()
        if last or certain:
            raise ChangedError(wrong)
        log.info("%s: %s; once more from the start", without_user(address), wrong)


def fetch_all(
    archives: Sequence[Archive],
    folder: Path,
    *,
    mirrors: Sequence[str] = (),
    workers: int = 4,
    patience: Patience = PATIENCE,
) -> list[Path]:
    """All of them, several at a time; if one fails, the others are finished before it is told."""
    check_mirrors(mirrors)
    done, lock = 0, threading.Lock()
    sizes = {archive.place: archive.bytes for archive in archives if archive.bytes}  # others show on the way
    with long_work(lambda: max(done, sum(sizes.values())) if sizes else None, unit="B", tell_end=False) as show:

        def advance(change: int) -> None:
            nonlocal done
            with lock:
                done += change
                show(done)

        def task(archive: Archive) -> Callable[[threading.Event], Path]:
            def expect(size: int) -> None:
                with lock:
                    sizes[archive.place] = size

            told = {"advance": advance, "expect": expect}
            return lambda stopped: fetch(archive, folder, mirrors=mirrors, patience=patience, stopped=stopped, **told)

        return side_by_side([task(archive) for archive in archives], workers)
