"""All objectives by name."""

from collections.abc import Callable

from axenat.config import ObjectiveConfig
from axenat.objectives.axe import Axe
from axenat.objectives.base import Objective
from axenat.objectives.left_to_right import LeftToRight
from axenat.objectives.masked import Masked

OBJECTIVES: dict[str, Callable[[ObjectiveConfig], Objective]] = {
    "left_to_right": LeftToRight,
    "masked": Masked,
    "axe": Axe,
}


def objective_of(config: ObjectiveConfig) -> Objective:
    return OBJECTIVES[config.name](config)
