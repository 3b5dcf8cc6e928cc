"""The pairs of one part of a published corpus, line by line out of its archives."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from axenat.data.archives import extract_each
from axenat.data.chinese import unspace
from axenat.data.markup import sgm_lines, tmx_pairs
from axenat.files import UserError
from axenat.recipe import Part, archive_of, patterns_of

Pair = tuple[str, str]


class PartText:
    """A part whose files lie unpacked in a scratch folder; iterating gives its pairs and counts what was odd."""

    def __init__(self, part: Part, archives: Mapping[str, Path], languages: Pair, scratch: Path) -> None:
        self.part, self.languages = part, languages
        self.num_undecodable = 0  # lines that are not UTF-8; what cannot be read there becomes U+FFFD
        self.units = Counter[str]()  # of a .tmx: pairs, and those skipped because a language is missing
        self.files: dict[str, list[Path]] = {}
        sides = languages if part.format != "tmx" else languages[:1]
        for archive in dict.fromkeys(archive_of(part.files[side]) for side in sides):
            inside = [side for side in sides if archive_of(part.files[side]) == archive]
            patterns = [patterns_of(part.files[side]) for side in inside]
            found = extract_each(archives[archive], patterns, scratch / inside[0])
            self.files |= dict(zip(inside, found, strict=True))

    @property
    def num_incomplete(self) -> int:
        return self.units["skipped"]

    def __iter__(self) -> Iterator[Pair]:
        pairs = self._of_tmx() if self.part.format == "tmx" else self._of_two_sides()
        edit = [unspace if language in self.part.unspace else _as_it_is for language in self.languages]
        for source, target in pairs:
            yield edit[0](source), edit[1](target)

    def _of_tmx(self) -> Iterator[Pair]:
        for path in self.files[self.languages[0]]:
            yield from tmx_pairs(path, *self.languages, self.units)

    def _of_two_sides(self) -> Iterator[Pair]:
        sources, targets = (self.files[language] for language in self.languages)
        if len(sources) != len(targets):
            raise UserError(
                f"{sources[0].name} and others are {len(sources)} files, but their translations {len(targets)}"
            )
        read: Callable[[Path], Iterator[str]] = sgm_lines if self.part.format == "sgm" else self._lines
        for source, target in zip(sources, targets, strict=True):
            for number, pair in enumerate(zip_longest(read(source), read(target)), start=1):
                if pair[0] is None or pair[1] is None:
                    short, long = (source, target) if pair[0] is None else (target, source)
                    words = f"{short.name} ends before line {number} of {long.name}"
                    raise UserError(f"{words}; a parallel corpus needs the same number")
                yield pair

    def _lines(self, path: Path) -> Iterator[str]:
        """Only a line feed ends a line. Corpora from the web are not always UTF-8; one line must not cost millions."""
        with path.open("rb") as stream:
            for raw in stream:
                try:
                    line = raw.decode("utf-8")
                except UnicodeDecodeError:
                    self.num_undecodable += 1
                    line = raw.decode("utf-8", errors="replace")
                yield line.removesuffix("\n").removesuffix("\r")


def _as_it_is(line: str) -> str:
    return line
