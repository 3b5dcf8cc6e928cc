"""A run's folder decoded twice: by `axenat translate`, and one line at a time by the slow searches."""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from axenat import cli
from axenat.data.side import Side
from axenat.data.vocab import BLANK, BOS, EOS, MASK, PAD
from axenat.decode.translator import Translator
from axenat.files import read_lines, read_yaml, write_lines, write_yaml
from axenat.model.transformer import Transformer
from tests import tiny
from tests.reference.mask_predict import candidates_slowly
from tests.reference.search import plain_beam

# What may never come out, of each kind of model: only AXE predicts blanks.
BANNED = {
    "left_to_right": (PAD, BOS, MASK, BLANK),
    "masked": (PAD, BOS, MASK, BLANK),
    "axe": (PAD, BOS, MASK),
}
ENGINES = [
    ("left_to_right", "torch"), ("left_to_right", "ctranslate2"),
    ("masked", "torch"), ("masked", "onnx"), ("axe", "torch"), ("axe", "onnx"),
]  # fmt: skip
MASKED_ENGINES, BEAM_ENGINES = ENGINES[2:], ENGINES[:2]
LINES = ["the old man buys a red car today .", "a car", "the woman sees the old man", "", "unseen red woman ."]
POSITIONS = 14
Best = list[tuple[str, float]]  # texts with their scores, best first


# Untrained models whose translations depend on every setting: some end in time, and AXE's say blanks now and then.
MODELS = {"left_to_right": (3, {EOS: 0.0}), "masked": (2, {EOS: 1.0}), "axe": (5, {BLANK: 2.0})}


def run_folder(folder: Path, objective: str, **decode: Any) -> Path:
    seed, shifts = MODELS[objective]
    shape = {"max_positions": POSITIONS, "init_std": 0.5}
    return favour(tiny.run_folder(folder, objective, seed=seed, shape=shape, **decode), shifts)


def favour(folder: Path, shifts: dict[int, float]) -> Path:
    """Raise the logits of these tokens by about so much at every position."""
    weights = load_file(folder / "model.safetensors")
    bias, matrix = weights["decoder.1.norms.2.bias"], weights["target_tokens.weight"]
    # All states get a component along the direction in which tokens differ least.
    direction = torch.linalg.svd(matrix).Vh[-1]
    direction = direction * direction.sum().sign()
    bias += 5 * direction
    for token, shift in shifts.items():
        matrix[token] += shift / 5 * direction
    save_file(weights, folder / "model.safetensors")
    return folder


def set_decode(folder: Path, **changes: Any) -> Path:
    write_yaml(folder / "decode.yaml", {**read_yaml(folder / "decode.yaml"), **changes})
    return folder


def set_objective(folder: Path, **changes: Any) -> Path:
    config = read_yaml(folder / "config.yaml")
    write_yaml(folder / "config.yaml", {**config, "objective": {**config["objective"], **changes}})
    return folder


def translated(folder: Path, *flags: str, lines: list[str] = LINES, number: int = 9) -> list[Best]:
    """What `axenat translate --n-best --scores` writes about each line."""
    source, out = folder / "lines.txt", folder / "out.txt"
    write_lines(source, lines)
    files = ("--model", str(folder), "--input", str(source), "--output", str(out))
    columns = ("--n-best", str(number), "--scores", "--device", "cpu")
    assert cli.main(["translate", *files, *columns, *flags]) == 0
    found: list[Best] = [[] for _ in lines]
    for row in read_lines(out):
        place, text, score = row.split("\t")
        found[int(place) - 1].append((text, float(score)))
    return found


def slowly(folder: Path, objective: str, *, lines: list[str] = LINES, **how: Any) -> list[Best]:
    """The same by definition: `beam` and `penalty`, or what `candidates_slowly` takes."""
    source, target = (Side.load(folder, side) for side in ("source", "target"))
    network = _network(folder)
    found: list[Best] = []
    for line in lines:
        ids = [*source.encode(source.tokenise(line))[: POSITIONS - 1], EOS]
        hypotheses = tuple(_searched(network, objective, tuple(ids), **how)) if line else ((0.0, ()),)
        best: Best = []
        for score, one in hypotheses:
            text = target.plain(target.words(" ".join(target.vocab.decode(read_out(objective, one)))))
            if text not in dict(best):
                best.append((text, score))
        found.append(best)
    return found


def read_out(objective: str, ids: tuple[int, ...]) -> list[int]:
    """What is no word is dropped. Only AXE knows blanks, and only a left-to-right model ends at its <eos>."""
    if objective == "left_to_right":
        return list(ids[:-1] if ids[-1:] == (EOS,) else ids)
    return [token for token in ids if token != EOS and (token != BLANK or objective != "axe")]


@cache
def _network(folder: Path) -> Transformer:
    return Translator(folder, torch.device("cpu"), engine="torch").model


@cache
@torch.inference_mode()
def _searched(network: Transformer, objective: str, source: tuple[int, ...], **how: Any) -> Any:
    if objective != "left_to_right":
        found = candidates_slowly(network, list(source), BANNED[objective], **how)
    else:
        longest = min(POSITIONS, 2 * len(source) + 10)
        tokens = [i for i in range(len(network.output_matrix)) if i not in (*BANNED[objective], EOS)]
        found = plain_beam(network, list(source), tokens, longest, how["penalty"], how["beam"])[: how["beam"]]
    return [(score, tuple(ids)) for score, ids in found]
