"""Where and in which precision the model runs."""

from contextlib import AbstractContextManager, nullcontext

import torch

from axenat.files import UserError


def device_of(name: str) -> torch.device:
    """`auto` takes a GPU when there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f"--device {name}: not a device; use auto, cpu, cuda or cuda:0") from None
    if name not in ("cpu", "cuda") and not (device.type == "cuda" and device.index is not None):
        raise UserError(f"--device {name}: not a device of ours; use auto, cpu, cuda or cuda:0")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"--device {name}: this machine has no usable GPU; use auto or cpu")
    return device


def precision_of(name: str, device: torch.device) -> torch.dtype:
    """The type that matrix products run in. bfloat16 products are slow on most CPUs, so `auto` avoids them."""
    if name == "auto":
        if device.type != "cuda":
            return torch.float32
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[name]


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[None]:
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype)


def allow_fast_products(precision: str, device: torch.device) -> None:
    """TF32 where the GPU has it and nobody asked for float32 in full."""
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")


def use_threads(number: int | None) -> None:
    """All of them, if none is named."""
    if number is None:
        return
    if number < 1:
        raise UserError(f"--threads {number}: must be at least 1; leave it out to use all")
    torch.set_num_threads(number)
