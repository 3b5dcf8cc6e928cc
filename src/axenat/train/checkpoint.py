"""What is kept of a training: the resumable state and the best checkpoints. Safetensors only, no pickle.

The newest two states are kept, each with a checksum inside: a damaged one is noticed, and the one before is used.
"""

import hashlib
import json
import logging
import math
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from axenat.files import UserError, atomic, read_record, sha256_of
from axenat.train.optimizer import Optimizer

log = logging.getLogger(__name__)
STATES = "state-*.safetensors"
CHECKPOINTS = "step-*.safetensors"
KEPT_STATES = 2
HISTORY = "history.jsonl"
ASIDE = "previous"


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


def load_weights(model: nn.Module, tensors: dict[str, Tensor], path: Path, *, may_lack: Iterable[str] = ()) -> None:
    """All weights; those that either side may lack stay as they are."""
    parameters = weights_of(model)
    odd = sorted((tensors.keys() ^ parameters.keys()) - set(may_lack))
    if odd:
        raise UserError(f"{path} does not fit the model of config.yaml: {odd[0]} is on one side only")
    with torch.no_grad():
        for name, parameter in parameters.items():
            found = tensors.get(name, parameter)
            if parameter.shape != found.shape:
                sizes = f"{tuple(found.shape)} instead of {tuple(parameter.shape)}"
                raise UserError(f"{path} does not fit the model of config.yaml: {name} is {sizes}")
            parameter.copy_(found)


@dataclass(slots=True)
class TrainState:
    """Where a training stands. All randomness comes from (seed, step), so no generator needs to be kept."""

    step: int = 0  # updates made or skipped
    epoch: int = 0
    position: int = 0  # batches of this epoch that are used up
    budget: int = 0  # tokens of each of them
    due: bool = False  # is this step still to be validated?
    skipped: int = 0  # steps in a row without an update, since loss or gradient was not finite
    history_bytes: int = 0
    window: dict[str, float] = field(default_factory=dict)  # sums since the last line of the history
    best: list[dict[str, Any]] = field(default_factory=list)  # step, loss, file, sha256; best first


def save_state(folder: Path, state: TrainState, model: nn.Module, optimizer: Optimizer, fingerprint: str) -> None:
    """The new state, then without those before the last one and the checkpoints that none of the kept ones names."""
    tensors = {f"model.{name}": tensor for name, tensor in weights_of(model).items()}
    moments = optimizer.adam.state_dict()["state"]
    tensors |= {f"optimizer.{i}.{name}": value for i, slots in moments.items() for name, value in slots.items()}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {
        "state": json.dumps(asdict(state)),
        "scaler": json.dumps(optimizer.scaler.state_dict()),
        "fingerprint": fingerprint,
    }
    save_tensors(folder / _state_name(state.step), tensors, {**metadata, "sha256": _digest(tensors, metadata)})
    kept = sorted(folder.glob(STATES))[-KEPT_STATES:]
    _drop(folder.glob(STATES), {path.name for path in kept})
    _drop(folder.glob(CHECKPOINTS), {entry["file"] for path in kept for entry in _best_in(path)})


def _state_name(step: int) -> str:
    return f"state-{step:07d}.safetensors"


def _best_in(path: Path) -> list[dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as stream:
            return list(json.loads(stream.metadata()["state"])["best"])
    except (SafetensorError, OSError, TypeError, LookupError, ValueError):
        return []  # damaged: it will never be resumed


def _drop(paths: Iterable[Path], named: set[str]) -> None:
    for path in paths:
        if path.name not in named:
            path.unlink()


def _digest(tensors: dict[str, Tensor], metadata: dict[str, str]) -> str:
    """Of all bytes that matter: names, shapes, values, and what goes with them."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_state(folder: Path, model: nn.Module, optimizer: Optimizer, fingerprint: str) -> TrainState | None:
    """The newest whole state. None: nothing to resume, or only another configuration or data."""
    paths = sorted(folder.glob(STATES), reverse=True)
    for path in paths:
        try:
            tensors, metadata = load_tensors(path)
            expected = metadata.pop("sha256", "")
            if _digest(tensors, metadata) != expected:
                raise UserError(f"{path}: its content does not fit its checksum")
            if metadata["fingerprint"] != fingerprint:
                return None
            state = TrainState(**json.loads(metadata["state"]))
            written = folder / HISTORY
            if not written.exists() or written.stat().st_size < state.history_bytes:
                raise UserError(f"{path}: the history beside it is missing or cut short")
        except UserError as error:
            log.warning("%s; the state before it is used", error)
            continue
        _restore(tensors, json.loads(metadata["scaler"]), model, optimizer, path)
        state.best = [entry for entry in state.best if is_whole(folder / entry["file"], entry["sha256"])]
        return state
    if paths:
        raise UserError(f"{folder}: no state is whole; restore one from a copy, or delete the folder to train anew")
    return None


def is_trained(out: Path, mark: str) -> bool:
    """A job that is requeued although it was done must not begin anew; the workflow removes best.json if it shall."""
    if not (out / "best.json").exists():
        return False
    best = read_record(out / "best.json")
    files = {out / "checkpoints" / entry["file"]: entry["sha256"] for entry in best["checkpoints"]}
    if best.get("fingerprint") != mark or not all(is_whole(path, sha256) for path, sha256 in files.items()):
        return False
    log.info("%s is trained already; delete its best.json and checkpoints to train it again", out)
    return True


def is_whole(path: Path, sha256: str) -> bool:
    whole = path.exists() and sha256_of(path) == sha256
    if not whole:
        log.warning("%s is missing or damaged; it no longer counts among the best", path)
    return whole


def _restore(tensors: dict[str, Tensor], scaler: dict[str, Any], model: nn.Module, optimizer: Optimizer,
             path: Path) -> None:  # fmt: skip
    weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    load_weights(model, weights, path)
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, slot = name.split(".")
            moments.setdefault(int(index), {})[slot] = value
    groups = optimizer.adam.state_dict()["param_groups"]
    optimizer.adam.load_state_dict({"state": moments, "param_groups": groups})
    optimizer.scaler.load_state_dict(scaler)


def set_aside(folder: Path) -> None:
    """What a training of another configuration or data left; the last one is kept, if it was not finished."""
    aside = folder / ASIDE
    found = [path for path in folder.iterdir() if path != aside]
    states = sorted(folder.glob(STATES))
    if states:
        step = int(states[-1].stem.split("-")[1])
        log.warning("training of other configuration or data, %d steps done, is set aside in %s", step, aside)
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
    for path in found:
        if states:
            path.rename(aside / path.name)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def tidy(folder: Path, state: TrainState | None) -> None:
    """Before going on: what a killed process left half written, and states later than the one that is resumed."""
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink()
    for path in folder.glob(STATES):
        if state is None or path.name > _state_name(state.step):
            path.unlink()


def keep_the_last(folder: Path, state: TrainState) -> None:
    """Once the results are written. A workflow that died meanwhile deletes them when it is started again, and has them
    back from the last state without training."""
    shutil.rmtree(folder / ASIDE, ignore_errors=True)
    _drop(folder.glob(STATES), {_state_name(state.step)})
    _drop(folder.glob(CHECKPOINTS), {entry["file"] for entry in state.best})


def forget_unless_whole(folder: Path, steps: int) -> None:
    """A finished training that has lost some of its best checkpoints since: only training brings them back."""
    last = folder / _state_name(steps)
    if last.exists() and not all(is_whole(folder / entry["file"], entry["sha256"]) for entry in _best_in(last)):
        log.warning("%s was trained to its end, but its checkpoints are not whole: it is trained again", folder)
        forget_states(folder)


def forget_states(folder: Path) -> None:
    """Once the results are in use: forcing the stage again shall mean training again."""
    _drop(folder.glob(STATES), set())


def keep_if_best(state: TrainState, folder: Path, model: nn.Module, loss: float, keep: int) -> None:
    """Write this checkpoint if it is among the `keep` lowest validation losses.

    The one it ousts stays until no kept state names it, or a resumed training would look for it in vain.
    """
    if not math.isfinite(loss) or (len(state.best) >= keep and loss >= state.best[-1]["loss"]):
        return
    path = folder / f"step-{state.step:07d}.safetensors"
    save_tensors(path, weights_of(model), {"step": str(state.step)})
    entry = {"step": state.step, "loss": loss, "file": path.name, "sha256": sha256_of(path)}
    state.best = sorted([*state.best, entry], key=lambda item: (item["loss"], item["step"]))[:keep]
