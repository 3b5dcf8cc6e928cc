"""The mean of several checkpoints. Works on numpy alone, so that the job starts at once."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file


def average(paths: list[Path]) -> dict[str, npt.NDArray[Any]]:
    """The arithmetic mean of each weight, summed in float64."""
    sums: dict[str, npt.NDArray[np.float64]] = {}
    for path in paths:
        for name, value in load_file(path).items():
            sums[name] = sums.get(name, np.zeros(value.shape)) + value
    return {name: (value / len(paths)).astype(np.float32) for name, value in sums.items()}
