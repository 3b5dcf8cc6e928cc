"""What the losses refuse, in words. Shapes cost nothing to look at; values make a GPU wait, so that is a choice."""

import torch
from torch import Tensor

from axenat.losses.rows import within

WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_shapes(
    predictions: Tensor,  # logits (B m V) or states (B m D)
    V: int,
    targets: Tensor,
    prediction_lengths: Tensor,
    target_lengths: Tensor,
    observed: Tensor | None,
    blank_id: int,
) -> None:
    if predictions.ndim != 3 or not predictions.is_floating_point():
        raise ValueError(f"logits or states must be floats (B m V) or (B m D), got {seen(predictions)}")
    B, m, _ = predictions.shape
    check_whole("targets", targets, 2, B)
    check_whole("prediction_lengths", prediction_lengths, 1, B)
    check_whole("target_lengths", target_lengths, 1, B)
    if not 0 <= blank_id < V:
        raise ValueError(f"blank_id must be a token of the vocabulary (0 to {V - 1}), got {blank_id}")
    if observed is None:
        return
    if m != targets.shape[1]:
        raise ValueError(f"observed needs as many predictions as targets, got {m} and {targets.shape[1]}")
    if observed.dtype != torch.bool or observed.shape != targets.shape:
        raise ValueError(f"observed must be booleans {tuple(targets.shape)} as the targets, got {seen(observed)}")


def check_whole(name: str, tensor: Tensor, dimensions: int, length: int) -> None:
    if tensor.ndim != dimensions or len(tensor) != length or tensor.dtype not in WHOLE:
        raise ValueError(f"{name} must be whole numbers ({length}{', n' * (dimensions - 1)}), got {seen(tensor)}")


def check_sentences(m: int, V: int, targets: Tensor, prediction_lengths: Tensor, target_lengths: Tensor) -> None:
    n = targets.shape[1]
    for lengths, most, name in ((prediction_lengths, m, "prediction"), (target_lengths, n, "target")):
        if bool(((lengths < 0) | (lengths > most)).any()):
            raise ValueError(f"{name}_lengths must be 0 to {most}, the size of the tensor, got {lengths.tolist()}")
    if bool(((prediction_lengths < 1) & (target_lengths > 0)).any()):
        raise ValueError("a sentence with targets needs at least one prediction")
    check_tokens(V, targets[within(target_lengths, n)])


def check_tokens(V: int, targets: Tensor) -> None:
    unknown = targets[(targets < 0) | (targets >= V)]
    if len(unknown):
        raise ValueError(f"targets must be tokens of the vocabulary (0 to {V - 1}), got {int(unknown[0])}")


def check_smoothing(label_smoothing: float) -> None:
    if not 0 <= label_smoothing < 1:
        raise ValueError(f"label_smoothing must be at least 0 and below 1, got {label_smoothing}")


def check_finite(finite: Tensor, names: tuple[str, ...], first: int = 0) -> None:
    """Are the logits everywhere? `names` are those of the dimensions; `first` counts what came before."""
    wrong = (~finite).nonzero()
    if len(wrong):
        row, *rest = wrong[0].tolist()
        where = ", ".join(f"{name} {number}" for name, number in zip(names, (first + row, *rest), strict=True))
        raise ValueError(f"logits must be finite, but those of {where} hold nan or infinity")


def seen(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
