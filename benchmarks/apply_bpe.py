"""Byte pair encoding of one file by our tables on all cores, as `subword-nmt apply-bpe` does it on one.

python -m benchmarks.apply_bpe --codes codes --input words.txt --output subwords.txt --threads 2
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from axenat.data.lines import PAIRS, Block
from axenat.data.subwords import Subwords
from axenat.data.workers import map_chunks, processes_of
from axenat.files import open_text


class Splitter:
    def __init__(self, codes: Path) -> None:
        self.subwords = Subwords.load(codes)

    def __call__(self, block: Block) -> bytes:
        return "".join(f"{self.subwords.apply(line)}\n" for line in block.lines()).encode()


def blocks(path: Path) -> Iterator[Block]:
    with open_text(path) as stream:
        while lines := list(islice(stream, PAIRS)):
            yield Block(str(path), 1, b"".join(lines))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("codes", "input", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--threads", type=int)
    args = parser.parse_args(argv)
    with args.output.open("wb") as out:
        out.writelines(map_chunks(Splitter(args.codes), blocks(args.input), processes_of(args.threads)))


if __name__ == "__main__":
    main()
