"""Plain lines out of the markup that corpora are published in: WMT's .sgm and translation memories (.tmx)."""

import logging
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from axenat.files import UserError, iter_lines

log = logging.getLogger(__name__)
CHUNK = 1 << 18
LONGEST = 1 << 20  # of a segment or a tag, in characters or bytes: no sentence is, and memory stays flat


def sgm_lines(path: str | Path) -> Iterator[str]:
    """Its segments, as sacrebleu reads them, so that scores compare: a segment is one line, and entities stay."""
    number = 0
    for line in iter_lines(path):
        if line.startswith("<seg "):
            number += 1
            yield _segment(line)
    if number == 0:
        raise UserError(f"{path}: has no segments; in an .sgm file, some lines begin with '<seg '")


def _segment(line: str) -> str:
    """Without its tags; a segment whose end is not on its line keeps them, there as here."""
    begin, end = line.find(">"), line.rfind("</seg>")
    if begin < end:
        line = line[begin + 1 : end] + line[end + len("</seg>") :]
    return one_line(line)


def one_line(text: str) -> str:
    """White space of any kind and number as one space, none at the ends."""
    return " ".join(text.split())


def tmx_pairs(
    path: str | Path, source_language: str, target_language: str, counts: Counter[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Both sides of each unit that has both languages; regions and case of languages do not matter.

    Units without one of them are skipped; `counts` receives how many are `pairs` and how many `skipped`.
    """
    if not Path(path).is_file():
        raise UserError(f"{path}: no such file")
    number = Counter[str]()
    units = _Units(path, primary(source_language), primary(target_language))
    with Path(path).open("rb") as stream:
        ended = False
        while not ended:
            block = stream.read(CHUNK)
            ended = not block
            for pair in units.feed(block):
                number["pairs" if pair else "skipped"] += 1
                if pair:
                    yield pair
    if not number["pairs"]:
        found = ", ".join(sorted(units.found)) or "none"
        raise UserError(f"{path}: no unit has both {source_language} and {target_language}; languages there: {found}")
    if number["skipped"]:
        words = "%s: %d units of %d skipped, which lack %s or %s"
        log.info(words, path, number["skipped"], number.total(), source_language, target_language)
    if counts is not None:
        counts.update(number)


def primary(language: str) -> str:
    """en of EN-us."""
    return re.split("[-_]", language.strip().lower())[0]


class _Units:
    """What a parser of XML is told, unit by unit.

    Entities of the file's own are refused, because a few lines of them can expand without end or read other files;
    those of XML itself, such as &amp;, are no declaration and stay what they are.
    """

    def __init__(self, path: str | Path, source: str, target: str) -> None:
        self.path, self.source, self.target = path, source, target
        self.found: set[str] = set()  # languages
        self.done: list[tuple[str, str] | None] = []
        self.unit: dict[str, str] = {}
        self.language = ""
        self.text: list[str] | None = None  # of the segment that is open
        self.length = self.fed = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = lambda name, *rest: self._refuse(f"declares the entity {name}")
        self.parser.SkippedEntityHandler = lambda name, *rest: self._refuse(f"uses the unknown entity {name}")

    def feed(self, block: bytes) -> list[tuple[str, str] | None]:
        """The units that end in this block; None for one that lacks a language. An empty block is the end."""
        self.fed += len(block)
        try:
            self.parser.Parse(block, not block)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, error)
            raise UserError(f"{self.path}, line {error.lineno}: not valid XML ({reason})") from None
        except (LookupError, ValueError) as error:  # an encoding that is unknown or of several bytes
            raise UserError(f"{self.path}, line 1: {error}; convert it to UTF-8 first") from None
        if self.fed - self.parser.CurrentByteIndex > LONGEST + CHUNK:
            self._refuse(f"has a tag or comment of more than {LONGEST} bytes")
        done, self.done = self.done, []
        return done

    def _refuse(self, what: str) -> None:
        raise UserError(f"{self.path}, line {self.parser.CurrentLineNumber}: {what}; allowed is plain TMX")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self.unit = {}
        elif name == "tuv":
            self.language = primary(attributes.get("xml:lang") or attributes.get("lang") or "")
            if self.language and len(self.found) < 100:
                self.found.add(self.language)
        elif name == "seg" and self.language in (self.source, self.target):
            self.text, self.length = [], 0

    def _characters(self, text: str) -> None:
        """Also those inside of inline tags, which mark them and do not take them away."""
        if self.text is not None:
            self.text.append(text)
            self.length += len(text)
            if self.length > LONGEST:
                self._refuse(f"has a segment of more than {LONGEST} characters")

    def _end(self, name: str) -> None:
        if name == "seg" and self.text is not None:
            self.unit.setdefault(self.language, one_line("".join(self.text)))
            self.text = None
        elif name == "tu":
            whole = self.source in self.unit and self.target in self.unit
            self.done.append((self.unit[self.source], self.unit[self.target]) if whole else None)
            self.unit = {}
