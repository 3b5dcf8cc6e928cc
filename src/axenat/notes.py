"""What Snakemake has noted of the files that its jobs made: when each was written, and from which content.

In the folder that Snakemake works in. A file without a note tells nothing, as in a clone that has adopted nothing yet.
"""

import functools
import json
import os
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

from axenat.files import sha256_of, write_text

NOTES = Path(".snakemake/metadata")


def note_of(path: str | Path) -> dict[str, Any]:
    try:
        found = json.loads(_place_of(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_note(path: str | Path, note: dict[str, Any]) -> None:
    write_text(_place_of(path), json.dumps(note))


def _place_of(path: str | Path) -> Path:
    """Under the name of the file in base64; one that is too long for a name is cut into folders."""
    most = os.pathconf(NOTES, "PC_NAME_MAX") - 1
    name = urlsafe_b64encode(os.path.relpath(path).encode()).decode()
    *folders, last = (name[start : start + most] for start in range(0, len(name), most))
    return NOTES / Path(*(f"@{folder}" for folder in folders), last)


def was_written_since(path: str | Path) -> bool:
    """Whether it has another time than when its job was done. DVC gives files new times, too, but no other content."""
    ended = note_of(path).get("endtime")
    return isinstance(ended, int | float) and abs(os.stat(path).st_mtime - ended) > 0.001


def is_of_what_is_there(path: str | Path, within: Path) -> bool:
    """Whether what it was made from is still the same, and what that was made from, as far as it lies in a folder.

    Nothing is claimed of files that are gone, and of sums that cannot be compared."""
    sums, root = note_of(path).get("input_checksums"), within.resolve()
    return not isinstance(sums, dict) or all(
        _is_still(name, str(expected)) and is_of_what_is_there(name, within)
        for name, expected in sums.items()
        if root in (Path(name).parent.resolve() / "file").parents  # a file may be DVC's link to its cache
    )


def _is_still(path: str, expected: str) -> bool:
    kind, _, digest = expected.rpartition(":")  # older ones tell no kind
    try:
        found = os.stat(path)
    except OSError:
        return True
    return kind not in ("", "sha256") or _sum_at(path, found.st_mtime_ns, found.st_size) == digest


@functools.cache
def _sum_at(path: str, time: int, size: int) -> str:
    return sha256_of(path)
