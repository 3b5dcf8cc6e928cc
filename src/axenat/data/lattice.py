"""All translations of a sentence in one small tree: words, sequences, alternatives."""

import math
import random
import re
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Sequence:
    """All parts, one after the other."""

    parts: tuple["Lattice", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Exactly one of the options; the empty string makes a word optional."""

    options: tuple["Lattice", ...]
    weights: tuple[float, ...] | None = None  # how likely each is to be said; None: all alike


Lattice: TypeAlias = str | Sequence | Choice  # a plain string is zero or more words separated by one space


def sequence(*parts: Lattice) -> Lattice:
    """Join the parts and leave out the empty ones."""
    kept = tuple(part for part in parts if part != "") or ("",)
    return kept[0] if len(kept) == 1 else Sequence(kept)


def choice(*options: Lattice) -> Lattice:
    """One of the options, which must differ; a single one needs no choice."""
    return options[0] if len(options) == 1 else Choice(options)


def usually(habit: Lattice, other: Lattice, chance: float) -> Lattice:
    """Both are right, but people say `other` with this chance only."""
    return Choice((habit, other), (1 - chance, chance))


def count(lattice: Lattice) -> int:
    """How many translations there are, as long as no two paths spell the same words."""
    if isinstance(lattice, str):
        return 1
    if isinstance(lattice, Sequence):
        return math.prod([count(part) for part in lattice.parts])
    return sum([count(option) for option in lattice.options])


def sample(lattice: Lattice, rng: random.Random) -> str:
    """Walk through the tree, option by option as likely as people say it."""
    if isinstance(lattice, str):
        return lattice
    if isinstance(lattice, Sequence):
        return " ".join([words for part in lattice.parts if (words := sample(part, rng))])
    return sample(rng.choices(lattice.options, lattice.weights)[0], rng)


def sample_distinct(lattice: Lattice, rng: random.Random, num: int) -> list[str]:
    """The first `num` different samples in order of appearance; there must be comfortably more than that."""
    found: dict[str, None] = {}
    while len(found) < num:
        found[sample(lattice, rng)] = None
    return list(found)


def pattern(lattice: Lattice, end: str = ".") -> str:
    """A regular expression for exactly these translations, each followed by the `end` of the sentence."""
    return _pattern(lattice) + re.escape(end)


def _pattern(lattice: Lattice) -> str:
    # Every word brings the space that follows it, so that optional words need no special case.
    if isinstance(lattice, str):
        return "".join(re.escape(word) + " " for word in lattice.split())
    if isinstance(lattice, Sequence):
        return "".join(_pattern(part) for part in lattice.parts)
    return "(?:" + "|".join(_pattern(option) for option in lattice.options) + ")"
