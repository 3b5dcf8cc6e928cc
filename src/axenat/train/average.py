"""The mean of several checkpoints. Works on numpy alone, so that the job starts at once."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from axenat.files import UserError, sha256_of
from axenat.layout import SUBWORD_FILES


def average(paths: list[Path]) -> dict[str, npt.NDArray[Any]]:
    """The arithmetic mean of each weight, summed in float64."""
    sums: dict[str, npt.NDArray[np.float64]] = {}
    for path in paths:
        for name, value in load_file(path).items():
            sums[name] = sums.get(name, np.zeros(value.shape)) + value
    return {name: (value / len(paths)).astype(np.float32) for name, value in sums.items()}


def origin(steps: Iterable[int], folder: Path) -> dict[str, str]:
    """What the weights were made from, as their metadata: the steps, and the sums of the text files in `folder`.

    Under one key, since the library shuffles several, and the same model should have the same bytes.
    """
    sums = {name: sha256_of(folder / name) for name in SUBWORD_FILES}
    return {"origin": json.dumps({"steps": list(steps), "sha256": sums})}


def check_texts(folder: Path, metadata: Mapping[str, str]) -> None:
    """Codes or a vocabulary that lost or changed lines would only show as bad translations. Old models have no sums."""
    for name, expected in json.loads(metadata.get("origin", "{}")).get("sha256", {}).items():
        if sha256_of(folder / name) != expected:
            raise UserError(f"{folder / name} is not the file that model.safetensors was made with; restore the folder")
