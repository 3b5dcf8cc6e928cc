"""Reading and writing files: strict UTF-8 in, atomic out, and errors in one sentence."""

import errno
import fcntl
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import yaml

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


class UserError(Exception):
    """Bad input, said in one sentence: where, what is wrong, what is allowed. Exit code 2, no traceback."""

    exit_code = 2


@contextmanager
def atomic(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary neighbour of `path`; it takes the real name only once everything is on disk.

    A link stays and its file is replaced. A device or a pipe has no content to keep whole and is written as it is.
    """
    encoding = None if "b" in mode else "utf-8"
    if _is_stream(path):
        with open(_open_already(path) or path, mode, encoding=encoding) as stream:
            yield stream
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, mode, encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in DISK_FULL and error.filename is None:
            error.filename = str(path)  # a failed write does not say where
        raise
    sync_directory(path.parent)


def _is_stream(path: str | Path) -> bool:
    """Devices and pipes, and names such as /dev/stdout even where they lead to a file, which others are writing too."""
    open_elsewhere = os.path.islink(path) and os.path.abspath(path).startswith(("/dev/", "/proc/"))
    return open_elsewhere or (os.path.exists(path) and not os.path.isfile(path))


def _open_already(path: str | Path) -> int | None:
    """A copy of standard output or error: opened by name, the file behind it would be emptied first."""
    number = {"/dev/stdout": 1, "/dev/fd/1": 1, "/dev/stderr": 2, "/dev/fd/2": 2}.get(str(path))
    return None if number is None else os.dup(number)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def sync_directory(directory: Path) -> None:
    """A rename is only durable once its directory is."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def told_if_full(path: str | Path, advice: str) -> Iterator[None]:
    """A disk without room is the user's to clear: one sentence with the file and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        raise UserError(f"{path}: {error.strerror}; {advice}") from None


def without_user(text: str) -> str:
    """Addresses without user and password."""
    return re.sub(r"(\w://)[^/\s]*@", r"\1", text)


def without_credentials(text: str) -> str:
    """Fit to be shown: neither user and password of a URI, nor what follows a question mark, be it in half a URI."""
    return re.sub(r"\?\S+", "", without_user(text))


@contextmanager
def alone(lock: str | Path, *, patience: float | None = None) -> Iterator[None]:
    """While this lasts, no other process is inside with the same lock file; refused after so many seconds of waiting.

    The lock is the kernel's and ends with its process, however that ends; the file stays and means nothing.
    """
    Path(lock).parent.mkdir(parents=True, exist_ok=True)
    with Path(lock).open("w") as stream:
        try:
            if patience is None:
                fcntl.flock(stream, fcntl.LOCK_EX)
            else:
                _lock_within(stream, patience)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            words = "this file system has no locks; mount it with them (Lustre: -o flock), or work in another folder"
            raise UserError(f"{lock}: {words}") from None
        yield


def _lock_within(stream: IO[Any], seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                words = "is held by another process at the same work; wait for it or stop it"
                raise UserError(f"{stream.name} {words}") from None
            time.sleep(0.1)


def remove(path: str | Path) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be removed ({error.strerror})") from None


def refuse_twice(*paths: Path | None) -> None:
    """Two outputs of one name would leave one of them; streams may be shared."""
    names = [os.path.realpath(path) for path in paths if path and not _is_stream(path)]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{name}: named for two outputs; give each a file of its own")


def open_text(path: str | Path) -> IO[bytes]:
    """The bytes of a text file; whoever takes a line decodes it."""
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, expected a text file") from None


def iter_lines(path: str | Path) -> Iterator[str]:
    """Lines without their newline; only a line feed ends a line, so that other tools count the same."""
    with open_text(path) as stream:
        yield from decode_lines(stream, str(path))


def count_lines(path: str | Path) -> int:
    """As many as `iter_lines` gives."""
    number, last = 0, b"\n"
    with Path(path).open("rb") as stream:
        while block := stream.read(1 << 20):
            number, last = number + block.count(b"\n"), block[-1:]
    return number + (last != b"\n")


def decode_lines(stream: Iterable[bytes], name: str, first: int = 1) -> Iterator[str]:
    """`first` is the number of the first line, for complaints."""
    for number, raw in enumerate(stream, start=first):
        try:
            yield raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise UserError(f"{name}, line {number}: not UTF-8 ({error.reason}); convert it first") from None


def read_lines(path: str | Path) -> list[str]:
    return list(iter_lines(path))


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    with atomic(path) as stream:
        for line in lines:
            stream.write(line)
            stream.write("\n")


def read_parallel(source: str | Path, target: str | Path) -> tuple[list[str], list[str]]:
    """Both sides of a corpus, refused unless they pair up line by line."""
    sources, targets = read_lines(source), read_lines(target)
    check_parallel(source, len(sources), target, len(targets))
    return sources, targets


def check_parallel(source: str | Path, sources: int, target: str | Path, targets: int) -> None:
    """Refuse sides with these numbers of lines unless they pair up."""
    if sources != targets:
        words = "a parallel corpus needs the same number"
        raise UserError(f"{source} has {sources} lines but {target} has {targets}; {words}")
    if not sources:
        raise UserError(f"{source} and {target} are empty; a corpus needs at least one pair")


def read_text(path: str | Path) -> str:
    return "".join(f"{line}\n" for line in iter_lines(path))


def write_text(path: str | Path, text: str) -> None:
    with atomic(path) as stream:
        stream.write(text)


def read_json(path: str | Path) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid JSON ({error})") from None


def write_json(path: str | Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


class _EachKeyOnce(yaml.SafeLoader):
    """Of a key that stands twice in one mapping YAML takes the last, in silence."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise yaml.composer.ComposerError(None, None, f"{key.value} stands here twice", key.start_mark)
                seen.add((key.tag, key.value))
        return node


def read_yaml(path: str | Path) -> Any:
    try:
        return _EachKeyOnce(Path(path).read_text(encoding="utf-8")).get_single_data()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, not a file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from None


def read_mapping(path: str | Path, *keys: str) -> dict[str, Any]:
    """A YAML file of keys and values; `keys` must be among them."""
    return require(path, read_yaml(path), *keys)


def read_record(path: str | Path, *keys: str) -> dict[str, Any]:
    """A JSON file of keys and values; `keys` must be among them."""
    return require(path, read_json(path), *keys)


def require(where: str | Path, values: Any, *keys: str) -> dict[str, Any]:
    """`values` if it has these keys, `a.b` being b in the section a: a wrong file shows when it is read."""
    if not isinstance(values, dict):
        raise UserError(f"{where}: expected keys and values, got {str(values)[:50]!r}")
    for key in keys:
        place: Any = values
        for part in key.split("."):
            if not isinstance(place, dict) or part not in place:
                raise UserError(f"{where}: {key} is missing; expected the keys {', '.join(keys)}")
            place = place[part]
    return values


def write_yaml(path: str | Path, value: Any) -> None:
    write_text(path, yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


def sha256_of(path: str | Path) -> str:
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
