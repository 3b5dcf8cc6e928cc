"""What is kept of a training: the resumable state and the best checkpoints. Safetensors only, no pickle."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from axenat.files import UserError, atomic, sha256_of


def save_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic(path, "wb") as stream:
        stream.write(save(plain, metadata))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(path, framework="pt") as stream:
            names = stream.keys()
            return {name: stream.get_tensor(name) for name in names}, stream.metadata() or {}
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except SafetensorError as error:
        raise UserError(f"{path}: not a readable safetensors file ({error})") from None
    except OSError as error:
        reason = "is a folder" if path.is_dir() else error.strerror or str(error)
        raise UserError(f"{path}: {reason}, expected a safetensors file") from None


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Each parameter once, although tied embeddings have several names."""
    return dict(model.named_parameters())


def load_weights(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    parameters = weights_of(model)
    if tensors.keys() != parameters.keys():
        odd = sorted(tensors.keys() ^ parameters.keys())[0]
        raise UserError(f"{path} does not fit the model of its config.yaml: {odd} is on one side only")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != tensors[name].shape:
                sizes = f"{tuple(tensors[name].shape)} instead of {tuple(parameter.shape)}"
                raise UserError(f"{path} does not fit the model of its config.yaml: {name} is {sizes}")
            parameter.copy_(tensors[name])


@dataclass(slots=True)
class TrainState:
    """Where a training stands. All randomness comes from (seed, step), so no generator needs to be kept."""

    step: int = 0  # updates made
    epoch: int = 0
    position: int = 0  # batches of this epoch that are used up
    history_bytes: int = 0
    window: dict[str, float] = field(default_factory=dict)  # sums since the last line of the history
    best: list[dict[str, Any]] = field(default_factory=list)  # step, loss, file, sha256; best first


def save_state(path: Path, state: TrainState, model: nn.Module, optimizer: torch.optim.Optimizer,
               scaler: torch.amp.GradScaler, fingerprint: str) -> None:  # fmt: skip
    tensors = {f"model.{name}": tensor for name, tensor in weights_of(model).items()}
    moments = optimizer.state_dict()["state"]
    tensors |= {f"optimizer.{i}.{name}": value for i, slots in moments.items() for name, value in slots.items()}
    metadata = {
        "state": json.dumps(asdict(state)),
        "scaler": json.dumps(scaler.state_dict()),
        "fingerprint": fingerprint,
    }
    save_tensors(path, tensors, metadata)


def load_state(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler,
               fingerprint: str) -> TrainState | None:  # fmt: skip
    """None when there is nothing to resume: no file, or one of another configuration or data."""
    if not path.exists():
        return None
    tensors, metadata = load_tensors(path)
    if metadata.get("fingerprint") != fingerprint:
        return None
    weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    load_weights(model, weights, path)
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, slot = name.split(".")
            moments.setdefault(int(index), {})[slot] = value
    optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
    scaler.load_state_dict(json.loads(metadata["scaler"]))
    return TrainState(**json.loads(metadata["state"]))


def keep_if_best(state: TrainState, folder: Path, model: nn.Module, loss: float, keep: int) -> None:
    """Write this checkpoint if it is among the `keep` lowest validation losses, and drop the one it ousts."""
    if len(state.best) >= keep and loss >= state.best[-1]["loss"]:
        return
    path = folder / f"step-{state.step:07d}.safetensors"
    save_tensors(path, weights_of(model), {"step": str(state.step)})
    entry = {"step": state.step, "loss": loss, "file": path.name, "sha256": sha256_of(path)}
    state.best = sorted([*state.best, entry], key=lambda item: (item["loss"], item["step"]))
    for ousted in state.best[keep:]:
        (folder / ousted["file"]).unlink(missing_ok=True)
    del state.best[keep:]
