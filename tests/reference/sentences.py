"""Small random sentences for the laws of AXE, and the arguments they make."""

import sys

import torch
from torch import Tensor

BLANK, V = 0, 7
# Triton exists for Linux only; there it must be tested.
BACKENDS = ["torch", "numba"] + (["triton"] if sys.platform == "linux" else [])
# Triton's interpreter takes a second for what the others do in a millisecond: it gets `edges` and few random sentences.
QUICK = BACKENDS[:2]
# Targets and predictions of one sentence: none, one, as many, fewer, more, and a block of the kernel filled exactly.
EDGES = [(0, 1), (1, 1), (1, 5), (5, 1), (5, 2), (2, 5), (3, 3), (7, 4)]


def lengths(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.long)


def example(seed: int, B: int, n: int, m: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Logits (B m V) and targets (B n), any token but the blank."""
    rng = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(B, m, V, generator=rng, dtype=torch.float64)
    return logits.to(dtype), torch.randint(1, V, (B, n), generator=rng)


def ragged(seed: int, B: int, n: int, m: int) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(seed + 1)
    logits, targets = example(seed, B, n, m)
    prediction_lengths = torch.randint(1, m + 1, (B,), generator=rng)
    target_lengths = torch.randint(0, n + 1, (B,), generator=rng)
    return {
        "logits": logits,
        "targets": targets,
        "prediction_lengths": prediction_lengths,
        "target_lengths": target_lengths,
    }


def edges(seed: int = 1, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """Arguments for sentences of all `EDGES`, with padding."""
    targets, predictions = (lengths(*sizes) for sizes in zip(*EDGES, strict=True))
    logits, tokens = example(seed, len(EDGES), int(targets.max()), int(predictions.max()), dtype)
    return {"logits": logits, "targets": tokens, "prediction_lengths": predictions, "target_lengths": targets}


def full(logits: Tensor, targets: Tensor, **more) -> dict[str, object]:
    """Arguments for sentences that fill their tensors."""
    sizes = torch.full((len(logits),), logits.shape[1]), torch.full((len(logits),), targets.shape[1])
    names = {"prediction_lengths": sizes[0], "target_lengths": sizes[1]}
    return {"logits": logits, "targets": targets, **names, "blank_id": BLANK, **more}
