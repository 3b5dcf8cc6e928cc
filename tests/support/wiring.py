"""For each key of a record another value that is allowed, and ways of looking at what the code does with it.

A look runs the real code on a record and gives back what can be compared. It lists the keys that it must notice, and
must notice no other. All looks of a record together notice every key, so that a new key fails until one does.
"""

import dataclasses
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from axenat.records import ConfigError, as_plain, build, merge

NO_WORD = "no such word"


@dataclass(frozen=True, kw_only=True)
class Look:
    """`see` gets a record and gives what can be compared; `sees` are the keys that it must notice."""

    name: str
    kind: type
    see: Callable[[Any], Any]
    sees: frozenset[str]
    # What the record says before a key is changed.
    base: Mapping[str, Any] = field(default_factory=dict)
    # Values to try where none can be guessed, or where only these can be told apart.
    tries: Mapping[str, list[Any]] = field(default_factory=dict)
    # Keys that it is not asked about.
    apart: frozenset[str] = frozenset()
    before: list[Any] = field(default_factory=list)

    @property
    def first(self) -> Any:
        """What it sees before anything is changed: twice the same, or a change would prove nothing."""
        if not self.before:
            record = build(self.kind, self.base, self.name)
            self.before.append(self.see(record))
            assert self.see(record) == self.before[0], f"{self.name}: not the same twice"
        return self.before[0]

    def check(self, key: str) -> None:
        values = self.tries.get(key) or others(self.kind, self.base, key)
        assert values or key not in self.sees, f"{self.kind.__name__}.{key}: add a value to try to {self.name}"
        for value in values:
            changed = self.see(build(self.kind, merge(self.base, {key: value}), self.name))
            if key in self.sees:
                assert changed != self.first, f"{self.kind.__name__}.{key}: {self.name} does not notice {value!r}"
            else:
                assert changed == self.first, f"{self.kind.__name__}.{key}: {self.name} must not notice {value!r}"


def keys_of(kind: type) -> list[str]:
    return [item.name for item in dataclasses.fields(kind)]


def looks_at_keys(*looks: Look) -> "pytest.MarkDecorator":
    """A test for each look and each key."""
    asked = [(look, key) for look in looks for key in keys_of(look.kind) if key not in look.apart]
    cases = [pytest.param(look, key, id=f"{look.name}-{key}") for look, key in asked]
    return pytest.mark.parametrize(("look", "key"), cases)


def unnoticed(kind: type, *looks: Look, apart: tuple[str, ...] = ()) -> list[str]:
    """A sentence for each key that no look notices, and for each name that is no key; `apart` are seen elsewhere."""
    noticed = {key for look in looks if look.kind is kind for key in look.sees} | {*apart}
    keys = keys_of(kind)
    return [
        *(f"{kind.__name__}.{key}: nothing notices it; add it to a look" for key in keys if key not in noticed),
        *(f"{kind.__name__}.{key} is no key" for key in sorted(noticed) if key not in keys),
    ]


def others(kind: type, base: Mapping[str, Any], key: str) -> list[Any]:
    """Other values that are allowed: each other word, or one other number."""
    hint = typing.get_type_hints(kind)[key]
    present = as_plain(build(kind, base, "base"))[key]
    allowed = [value for value in _guesses(kind, base, key, hint, present) if _fits(kind, base, key, value, present)]
    return allowed if isinstance(present, str) else allowed[:1]


def _guesses(kind: type, base: Mapping[str, Any], key: str, hint: Any, present: Any) -> Iterator[Any]:
    if isinstance(present, bool):
        yield not present
    elif isinstance(present, int | float):
        yield from (2 * present, present / 2 if isinstance(present, float) else present // 2, present + 1, 0)
    elif isinstance(present, list) and present and isinstance(present[0], int | float):
        yield from (present[:-1], [*present, 2 * present[-1]])
    elif isinstance(present, str):
        yield from _words(kind, base, key) or [f"{present}x"]


def _words(kind: type, base: Mapping[str, Any], key: str) -> list[str]:
    """Those that the refusal of a wrong one names."""
    try:
        build(kind, merge(base, {key: NO_WORD}), "words")
    except ConfigError as error:
        found = re.search(r"must be one of (.+), got", str(error))
        return found[1].split(", ") if found else []
    return []


def _fits(kind: type, base: Mapping[str, Any], key: str, value: Any, present: Any) -> bool:
    try:
        return bool(as_plain(build(kind, merge(base, {key: value}), "try"))[key] != present)
    except ConfigError:
        return False
