"""All translations of a sentence in one small tree: words, sequences, alternatives."""

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


Lattice: TypeAlias = str | Sequence | Choice  # a plain string is zero or more words separated by one space


def sequence(*parts: Lattice) -> Lattice:
    """Join the parts and leave out the empty ones."""
    kept = tuple(part for part in parts if part != "") or ("",)
    return kept[0] if len(kept) == 1 else Sequence(kept)


def choice(*options: Lattice) -> Lattice:
    """One of the options; equal ones count once, in the order of their first appearance."""
    distinct = tuple(dict.fromkeys(options))
    return distinct[0] if len(distinct) == 1 else Choice(distinct)


def count(lattice: Lattice) -> int:
    """How many translations there are (as long as no two paths spell the same words)."""
    match lattice:
        case Sequence(parts):
            total = 1
            for part in parts:
                total *= count(part)
            return total
        case Choice(options):
            return sum(count(option) for option in options)
    return 1


def sample(lattice: Lattice, rng: random.Random) -> str:
    """Walk through the tree, every option of a choice as likely as the others."""
    match lattice:
        case Sequence(parts):
            return " ".join(words for part in parts if (words := sample(part, rng)))
        case Choice(options):
            return sample(options[rng.randrange(len(options))], rng)
    return lattice


def sample_distinct(lattice: Lattice, rng: random.Random, num: int) -> list[str]:
    """The first `num` different samples in order of appearance; there must be comfortably more than that."""
    found: dict[str, None] = {}
    while len(found) < num:
        found[sample(lattice, rng)] = None
    return list(found)


def pattern(lattice: Lattice, end: str = ".") -> str:
    """A regular expression for exactly these translations, each followed by a space and the `end` of the sentence."""
    return _pattern(lattice) + re.escape(end)


def _pattern(lattice: Lattice) -> str:
    # Every word brings the space that follows it, so that optional words need no special case.
    match lattice:
        case Sequence(parts):
            return "".join(_pattern(part) for part in parts)
        case Choice(options):
            return "(?:" + "|".join(_pattern(option) for option in options) + ")"
    return "".join(re.escape(word) + " " for word in lattice.split())
