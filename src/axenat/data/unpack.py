"""The raw text of a split out of the archives of a published corpus, both sides or none."""

import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from axenat.data.download import check
from axenat.data.part_text import PartText
from axenat.files import UserError, atomic
from axenat.progress import progress
from axenat.recipe import Published

log = logging.getLogger(__name__)


def unpack(published: Published, names: Sequence[str], folder: Path, out: Path) -> dict[str, dict[str, int]]:
    """Archives below `folder` to the files `names` in `out`, source and target; gives what was counted of each part.

    Sums are checked before anything is opened.
    """
    archives = {name: folder / archive.place for name, archive in published.archives.items()}
    for name, path in archives.items():
        check(published.archives[name], path)
    source, target = (name.rpartition(".")[2] for name in names)
    counts: dict[str, dict[str, int]] = {}
    with ExitStack() as files:
        streams = [files.enter_context(atomic(out / name)) for name in names]
        for name, part in published.parts.items():
            with _scratch(out / f".unpacked-{names[0]}") as scratch:
                text = PartText(part, archives, (source, target), scratch)
                counts[name] = {"pairs": _write(text, streams, name)}
                counts[name] |= {"undecodable": text.num_undecodable, "incomplete": text.num_incomplete}
        if not sum(part["pairs"] for part in counts.values()):
            raise UserError(f"{names[0]}: no pairs in {', '.join(published.parts)}; a corpus needs at least one")
    return counts


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """On the disk that takes the text; what a killed job left there goes first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(text: PartText, streams: Sequence[IO[str]], name: str) -> int:
    pairs = 0
    for pair in progress(text, desc=name):
        for stream, line in zip(streams, pair, strict=True):
            stream.write(f"{line}\n")
        pairs += 1
    log.info("%s: %s pairs", name, f"{pairs:,}")
    return pairs
