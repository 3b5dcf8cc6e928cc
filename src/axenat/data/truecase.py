"""Truecasing as Moses' recaser scripts do it: the first word of a sentence is written as it is elsewhere."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sacremoses import MosesTruecaser

from axenat.files import UserError, iter_lines, write_lines

_COUNT = re.compile(r"\((\d+)(?:/\d+)?\)")


@dataclass(frozen=True, slots=True)
class Truecaser:
    """The forms of words and how often each was met; with none at all, every line stays as it is.

    Of equally common forms the last in the order of code points is best, which prefers lower case: the, not The.
    """

    counts: "Counter[str]" = field(default_factory=Counter)
    best: dict[str, str] = field(init=False, repr=False)  # the commonest form of each word, by the word in lower case

    def __post_init__(self) -> None:
        object.__setattr__(self, "best", {forms[0].lower(): forms[0] for forms in self._forms()})

    @classmethod
    def from_counts(cls, counts: "Counter[str]") -> "Truecaser":
        """From what `count_cases` found, in one part of the text or added up over several."""
        return cls(counts)

    def apply(self, words: str) -> str:
        """The tokenised line with first words, and words in a case never met, in the commonest form."""
        return " ".join(
            self.best.get(word.lower(), word) if starts or word not in self.counts else word
            for word, starts in _with_starts(words)
        )

    def undo(self, words: str) -> str:
        """The tokenised line with a capital where a sentence starts, as Moses puts it: also IPhone for iPhone.

        Differs from Moses: a letter whose capital is more than one letter stays, ß and not SS.
        """
        if not self.counts:
            return words
        return " ".join(_capital(word[0]) + word[1:] if starts else word for word, starts in _with_starts(words))

    def save(self, path: str | Path) -> None:
        """As Moses writes it: a word a line, its best form first, each form with its count."""
        write_lines(path, (self._line(forms) for forms in self._forms()))

    @classmethod
    def load(cls, path: str | Path) -> "Truecaser":
        counts: Counter[str] = Counter()
        for number, line in enumerate(iter_lines(path), start=1):
            forms, found = line.split()[::2], [_COUNT.fullmatch(count) for count in line.split()[1::2]]
            if not forms or len(forms) != len(found) or None in found:
                raise UserError(f"{path}, line {number}: expected words with counts, as in 'the (7/8) The (1)'")
            counts.update({form: int(count[1]) for form, count in zip(forms, found, strict=True) if count})
        return cls(counts)

    def _forms(self) -> Iterator[list[str]]:
        """The forms of each word, best first; words in alphabetical order."""
        words: dict[str, list[str]] = {}
        for form in sorted(self.counts, key=lambda form: (self.counts[form], form), reverse=True):
            words.setdefault(form.lower(), []).append(form)
        return (words[word] for word in sorted(words))

    def _line(self, forms: list[str]) -> str:
        best, *others = forms
        total = sum(self.counts[form] for form in forms)
        return " ".join(
            [f"{best} ({self.counts[best]}/{total})", *(f"{form} ({self.counts[form]})" for form in others)]
        )


def count_cases(lines: Iterable[str]) -> "Counter[str]":
    """How often each word of tokenised lines stands within a sentence; the counts of parts add up to the whole's."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(form for _, form, _ in _moses().learn_truecase_weights(line.split()))
    return counts


def _capital(letter: str) -> str:
    capital = letter.upper()
    return capital if len(capital) == 1 else letter


@cache
def _moses() -> MosesTruecaser:
    return MosesTruecaser()


def _with_starts(words: str) -> Iterator[tuple[str, bool]]:
    """Each word with whether a sentence starts there; brackets and quotes put its start off."""
    starts = True
    for word in words.split():
        yield word, starts
        starts = word in _moses().SENT_END or (starts and word in _moses().DELAYED_SENT_START)
