"""All translation systems, in the order of tables and figures, and the roles that some of them play."""

from dataclasses import fields
from typing import Any

from axenat.records import one_of
from axenat.systems.axe.spec import SPEC as AXE
from axenat.systems.left_to_right.spec import SPEC as LEFT_TO_RIGHT
from axenat.systems.masked.spec import SPEC as MASKED
from axenat.systems.spec import Decoding, System

SYSTEMS: dict[str, System] = {system.name: system for system in (LEFT_TO_RIGHT, MASKED, AXE)}
# The paper proposes the one and compares it with the other.
PROPOSED, BASELINE = AXE, MASKED
# Names of those that may teach the others.
TEACHERS = tuple(name for name, system in SYSTEMS.items() if system.teaches)


def system_of(name: str) -> System:
    one_of("objective.name", name, tuple(SYSTEMS))
    return SYSTEMS[name]


def label_of(name: str) -> str:
    """In tables and figures. Records of other versions may name a system that is not here."""
    return SYSTEMS[name].label if name in SYSTEMS else name


def place_of(name: str) -> int:
    """In tables; what is not here comes last."""
    return list(SYSTEMS).index(name) if name in SYSTEMS else len(SYSTEMS)


def engines_of(system: System) -> tuple[str, ...]:
    return ("torch", *system.engines)


def all_engines() -> tuple[str, ...]:
    return tuple(dict.fromkeys(engine for system in SYSTEMS.values() for engine in engines_of(system)))


def measuring(diagnostic: str) -> tuple[str, ...]:
    """Names of the systems of which this is measured."""
    return tuple(name for name, system in SYSTEMS.items() if diagnostic in system.diagnostics)


def decodings() -> list[Decoding]:
    """The forms of all systems, each once."""
    return list({id(system.decoding): system.decoding for system in SYSTEMS.values()}.values())


def settings_kinds() -> dict[str, type]:
    """The record of an `objective` section, by its name."""
    return {name: system.settings for name, system in SYSTEMS.items()}


def keys_read(name: str) -> tuple[str, ...]:
    """The keys of `objective` that a system reads."""
    return tuple(item.name for item in fields(system_of(name).settings))


def settings_of(name: str, **values: Any) -> Any:
    """The settings of a system: its defaults, and these values."""
    return system_of(name).settings(name=name, **values)
