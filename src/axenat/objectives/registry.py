"""The code of each system, imported when it is asked for."""

from importlib import import_module
from typing import Any

from axenat.objectives.base import Objective
from axenat.systems.registry import system_of
from axenat.systems.spec import Settings


def objective_of(settings: Settings) -> Objective:
    module, _, name = system_of(settings.name).code.partition(":")
    made: Any = getattr(import_module(module), name)
    return made(settings)  # type: ignore[no-any-return]
