"""Tokenised pairs to ids, chunk by chunk on all cores."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from axenat.data.corpus import Ids
from axenat.data.lines import Pair
from axenat.data.side import Side
from axenat.data.workers import map_chunks
from axenat.progress import long_work


class Encoder:
    """Both sides of a corpus; travels to another process as the folder that they are loaded from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source, self.target = Side.load(folder, "source"), Side.load(folder, "target")

    def __reduce__(self) -> tuple[type["Encoder"], tuple[Path]]:
        return Encoder, (self.folder,)

    def __call__(self, chunk: Pair) -> tuple[Ids, Ids]:
        source, target = chunk
        return self.source.encode_lines(source.lines()), self.target.encode_lines(target.lines())


def encode_pairs(chunks: Iterable[Pair], encoder: Encoder, processes: int) -> Iterator[tuple[Ids, Ids]]:
    done = 0
    with long_work(None, unit="pair") as advance:
        for encoded in map_chunks(encoder, chunks, processes):
            done += len(encoded[0].lengths)
            advance(done)
            yield encoded
