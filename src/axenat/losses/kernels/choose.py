"""Which backend fills the table: asked for by name, or the fastest that the device and machine have."""

import functools
import importlib.util
import logging
from collections.abc import Callable

import torch
from torch import Tensor

from axenat.losses.kernels import torch_table

log = logging.getLogger(__name__)
Align = Callable[[Tensor, Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor, Tensor]]
BACKENDS = ("auto", "torch", "numba")


def table_backend(name: str, device: torch.device) -> Align:
    if name == "auto":
        name = _fastest(device.type)
    if name == "torch":
        return torch_table.align
    if name == "numba":
        if device.type != "cpu":
            raise ValueError(f"backend numba works on the CPU, but the logits are on {device}")
        from axenat.losses.kernels import numba_table

        return numba_table.align
    raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {name!r}")


@functools.cache
def _fastest(device_type: str) -> str:
    if device_type != "cpu":
        return "torch"
    if importlib.util.find_spec("numba"):
        return "numba"
    log.warning("numba is not installed: AXE aligns with the slower torch backend")
    return "torch"
