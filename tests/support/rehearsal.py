"""A GPU without a GPU: tensors on the meta device have no values, so that nothing there can be read unnoticed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import axenat

PACKAGE = Path(axenat.__file__).parent
ATEN = torch.ops.aten
FROM_NUMBERS = (torch.tensor, torch.as_tensor, Tensor.new_tensor)


@contextmanager
def rehearsal() -> Iterator[list[str]]:
    """Collects the places, as `module.function`, at which a GPU would have made the CPU wait.

    A wait is answered with ones, so that the rehearsal goes on. What has no answer (`nonzero`, a mask as index) and
    an operation on tensors of two devices raise an error. Copies to the device must be non-blocking.
    """
    waits: list[str] = []
    with _Operations(waits), _Uploads(waits):
        yield waits


class _Operations(TorchDispatchMode):
    """Everything that reaches a device, in the backward pass too."""

    def __init__(self, waits: list[str]) -> None:
        super().__init__()
        self.waits = waits

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        kind = function.overloadpacket
        if kind is ATEN._local_scalar_dense and args[0].is_meta:
            self.waits.append(place())
            return torch.ones((), dtype=args[0].dtype).item()
        if kind is ATEN._to_copy:
            return self._copy(function, args, kwargs, args[0], kwargs.get("device") or args[0].device)
        if kind is ATEN.copy_:
            return self._copy(function, args, kwargs, args[1], args[0].device)
        devices = {leaf.device.type for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        assert len(devices) < 2, f"{place()}: {function} on tensors of two devices"
        return function(*args, **kwargs)

    def _copy(self, function: Any, args: Any, kwargs: Any, source: Tensor, device: torch.device) -> Any:
        if source.device.type == device.type:
            return function(*args, **kwargs)
        if source.is_meta:
            self.waits.append(place())
            if function.overloadpacket is ATEN.copy_:
                return args[0].fill_(1)
            return torch.ones(source.shape, dtype=kwargs.get("dtype") or source.dtype)
        if not (kwargs.get("non_blocking") or args[2:] == (True,)):
            self.waits.append(place())
        return function(*args, **kwargs)


class _Uploads(TorchFunctionMode):
    """Tensors made of numbers of Python on a device: torch copies them there and waits."""

    def __init__(self, waits: list[str]) -> None:
        super().__init__()
        self.waits = waits

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        if function in FROM_NUMBERS and made.is_meta:
            self.waits.append(place())
        return made


def place() -> str:
    """The innermost function of the package that is running."""
    frame = sys._getframe()
    while frame.f_back is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            return f"{path.stem}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "outside the package"
