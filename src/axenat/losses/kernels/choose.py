"""Which backend fills the table: asked for by name, or the fastest that the device and machine have."""

import functools
import importlib.util
import logging
import os
from collections.abc import Callable

import torch
from torch import Tensor

from axenat.losses.kernels import torch_table

log = logging.getLogger(__name__)
Align = Callable[[Tensor, Tensor, Tensor, Tensor, float, bool], tuple[Tensor, Tensor, Tensor]]
FASTEST = {"cpu": "numba", "cuda": "triton"}  # by device; torch elsewhere
BACKENDS = ("auto", "torch", *FASTEST.values())


def table_backend(name: str, device: torch.device) -> Align:
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {name!r}")
    if name == "auto":
        name = _fastest(device.type)
    if name == "torch":
        return torch_table.align
    if not importlib.util.find_spec(name):
        raise ValueError(f"backend {name} needs the package {name}, which is not installed; backend auto does without")
    if FASTEST.get(device.type) != name and not _interpreted(name):
        place = next(place for place, fast in FASTEST.items() if fast == name)
        raise ValueError(f"backend {name} works on {place}, but the logits are on {device}")
    if name == "numba":
        from axenat.losses.kernels import numba_table

        return numba_table.align
    from axenat.losses.kernels import triton_table

    return triton_table.align


@functools.cache  # so that it is said once
def _fastest(device_type: str) -> str:
    name = FASTEST.get(device_type, "torch")
    if importlib.util.find_spec(name):
        return name
    log.warning("%s is not installed: AXE aligns with the slower torch backend", name)
    return "torch"


def _interpreted(name: str) -> bool:
    """Triton's interpreter runs kernels on the CPU, for tests."""
    return name == "triton" and os.environ.get("TRITON_INTERPRET") == "1"
