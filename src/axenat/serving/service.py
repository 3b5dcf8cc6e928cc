"""A trained model that answers requests: lists of lines in, refused in words or translated, all of them or none."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axenat.decode.translator import Translator
from axenat.files import UserError
from axenat.records import at_least
from axenat.train.devices import device_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Of one request; a large one would keep all others waiting."""

    most_lines: int = 1_000
    most_characters: int = 100_000  # of all its lines together

    def __post_init__(self) -> None:
        at_least("most_lines", self.most_lines, 1)
        at_least("most_characters", self.most_characters, 1)


def check_request(lines: Any, limits: Limits) -> list[str]:
    """The lines, if there is nothing to refuse."""
    if not isinstance(lines, list):
        raise UserError(f"expected a list of lines, got {type(lines).__name__}")
    if len(lines) > limits.most_lines:
        raise UserError(f"{len(lines)} lines, but a request may have {limits.most_lines}; send several requests")
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise UserError(f"line {number} must be text, got {type(line).__name__}")
        if "\n" in line:
            raise UserError(f"line {number} holds a line break; send each line as an entry of its own")
    characters = sum(map(len, lines))
    if characters > limits.most_characters:
        most = limits.most_characters
        raise UserError(f"{characters} characters, but a request may have {most}; send several requests")
    return lines


class TranslationService:
    """The files of a tuned run, as `axenat translate` reads them, and one request at a time."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.translator, self.limits = Translator(folder, device_of("auto")), limits
        self.turn = threading.Lock()  # a server answers each request on a thread of its own

    def answer(self, request: Any) -> list[str]:
        """A translation for each line, in order; an empty line stays empty."""
        words = self.translator.tokenise(check_request(request, self.limits))
        self._refuse_overlong(words)
        with self.turn:
            return [found.text for found in self.translator.translate_words(words)]

    def _refuse_overlong(self, lines: list[str]) -> None:
        """`axenat translate` cuts such a line and tells at the end; an answer has no place to tell."""
        most = self.translator.model.max_positions - 1
        for number, line in enumerate(lines, start=1):
            size = len(self.translator.source.encode(line))
            if size > most:
                raise UserError(f"line {number} has {size} subwords, but the model reads {most}; split the line")
