"""What the house knows of a translation system before anything heavy is imported.

The Snakefile reads these descriptions, so this module needs the standard library only.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Settings(Protocol):
    """The `objective` section of a run: a frozen dataclass of exactly the keys that its system reads."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuned:
    """The number that `tune` chooses on valid."""

    # Its name in tuned.json.
    key: str
    # The key of `decode` that lists the values to try.
    grid: str
    least: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """A key of `decode` that the name of a decoding spells out."""

    key: str
    prefix: str
    # Smaller values are left out of the name. Only the first size is always there.
    least: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """How models of a system are decoded: names on disk, keys of `decode` that they read, and what is tuned."""

    sizes: tuple[Size, ...]
    # Further keys of `decode` that change the output.
    also_reads: tuple[str, ...] = ()
    tuned: Tuned
    # A name that shows the form, for error messages.
    example: str

    @property
    def keys(self) -> tuple[str, ...]:
        return (*(size.key for size in self.sizes), *self.also_reads, self.tuned.grid)

    def name(self, settings: Any) -> str:
        """The name of the decoding with these values of `decode`, such as beam5 or ell5-t4."""
        values = [(size, getattr(settings, size.key)) for size in self.sizes]
        return "".join(f"{size.prefix}{value}" for size, value in values if value >= size.least)

    def width(self, settings: Any) -> int:
        """How many hypotheses of a sentence there are at most."""
        return int(getattr(settings, self.sizes[0].key))

    def sizes_in(self, name: str) -> dict[str, int] | None:
        """What a name says, under the keys of `decode`; None if it is no name of this form."""
        match = re.fullmatch("".join(map(_pattern, self.sizes)), name, re.ASCII)
        if match is None:
            return None
        return {size.key: int(text or 1) for size, text in zip(self.sizes, match.groups(), strict=True)}


def _pattern(size: Size) -> str:
    number = rf"{re.escape(size.prefix)}([1-9]\d*)"
    if size.least == 1:
        return number
    # A value below the least one has another name, without this part.
    return rf"(?:{re.escape(size.prefix)}({'|'.join(_from(size.least))}))?"


def _from(least: int) -> tuple[str, str]:
    """Patterns of the whole numbers from `least`, which has one digit, upwards."""
    return f"[{least}-9]", r"[1-9]\d+"


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """One kind of model: how it is named, set up, decoded and shown. Its code is imported by train and decode alone."""

    # `objective.name` in a study.
    name: str
    # In tables and figures.
    label: str
    # Of its runs in figures, in their order: names of the palette in figure_style.
    colours: tuple[str, ...]
    # Target side -> the row of config/paper.yaml that such a run reproduces. None: a row of its own.
    paper_rows: Mapping[str, str] = field(default_factory=dict)
    settings: type
    decoding: Decoding
    # May be a corpus's teacher.
    teaches: bool = False
    # What a training reads besides ids.
    inputs: tuple[str, ...] = ()
    # Of the modules that it adds to the shared transformer, from the `model` section: estimates must not import torch.
    num_own_parameters: Callable[[Any], int] = lambda model: 0
    # Engines that are faster than torch, which is always there, with the packages that they need.
    engines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What `tune` and `analyse` measure: "confidence" on a page of masks, "alignment" of predictions and targets.
    diagnostics: tuple[str, ...] = ()
    # "package.module:class"
    code: str
