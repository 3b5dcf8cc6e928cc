"""Every key of `train` reaches the training, and so do seed and first weights: by what `axenat train` writes."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from axenat.cli import main
from axenat.config import RunConfig, TrainConfig
from axenat.data.corpus import vocab_metadata
from axenat.data.corpus_writer import write_corpus
from axenat.data.vocab import Vocab
from axenat.files import UserError, read_yaml, write_yaml
from axenat.model.transformer import Transformer
from axenat.records import as_plain, merge
from axenat.train import loop
from axenat.train.checkpoint import load_tensors, save_tensors
from tests import tiny
from tests.support.wiring import Look, keys_of, looks_at_keys, unnoticed

ALL = frozenset(keys_of(TrainConfig))
# No defaults, and each such that it matters: gradients are clipped, some checkpoints are not kept.
BASE = {
    "steps": 9,
    "tokens_per_step": 90,
    "tokens_per_batch": 45,
    "peak_lr": 0.01,
    "warmup_steps": 3,
    "weight_decay": 0.1,
    "weight_decay_kind": "l2",
    "adam_beta1": 0.8,
    "adam_beta2": 0.9,
    "adam_eps": 0.001,
    "clip_norm": 0.5,
    "validate_every": 2,
    "keep_best": 2,
    "log_every": 4,
    "precision": "fp32",
    "most_skipped": 1,
}
PLACE: dict[str, Path] = {}
SENTENCES = ["the old man", "a car", "the red woman sees", "today", "a man buys the old car", "red", "woman today ."]


@pytest.fixture(scope="module", autouse=True)
def _house(tmp_path_factory):
    """A run that was never trained, with ids to train it on, and two models to start from; nobody follows it."""
    folder = tmp_path_factory.mktemp("house")
    run = tiny.run_folder(folder / "run", "masked", shape={"dropout": 0.1})
    vocab = Vocab.load(run / "vocab.source")
    for name, times in (("train", 3), ("valid", 1)):
        lines = [vocab.encode(line) for line in SENTENCES[:: 2 - times // 2] * times]
        write_corpus(folder / f"{name}.safetensors", lines, lines[::-1], metadata=vocab_metadata(vocab, vocab))
    other, broken = (
        tiny.run_folder(folder / name, "masked", seed=2) / "model.safetensors" for name in ("other", "nan")
    )
    tensors, metadata = load_tensors(broken)
    save_tensors(broken, {name: value * math.nan for name, value in tensors.items()}, metadata)
    PLACE.update(folder=folder, other=other, nan=broken)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", "/nobody/follows")
        yield
    PLACE.clear()


def wrote(train: dict[str, Any], **sections: Any) -> Any:
    """What a training leaves, but for its mark and for what a clock says; and its exit code."""
    folder = PLACE["folder"]
    out = folder / f"out-{len(list(folder.iterdir()))}"
    values = merge(read_yaml(folder / "run" / "config.yaml"), {"train": train, **sections})
    write_yaml(folder / "config.yaml", values)
    flags = {"config": folder / "config.yaml", "subwords": folder / "run", "out": out, "threads": 1, "device": "cpu"}
    flags |= {name: folder / f"{name}.safetensors" for name in ("train", "valid")}
    if "start_from" in sections:
        flags["start-from"] = PLACE[sections["start_from"]]
    code = main(["train", *(word for name, value in flags.items() for word in (f"--{name}", str(value)))])
    history = (out / "checkpoints" / "history.jsonl").read_text(encoding="utf-8")
    best = json.loads((out / "best.json").read_text(encoding="utf-8"))["checkpoints"] if code == 0 else []
    return code, history, best


def by_train(config: TrainConfig) -> Any:
    return wrote(as_plain(config))


def by_run(config: RunConfig) -> Any:
    sections = {key: value for key, value in as_plain(config).items() if value is not None}
    return wrote(sections.pop("train"), **{key: sections[key] for key in sections if key != "decode"})


def of_nothing(config: TrainConfig) -> Any:
    """A training whose loss is never a number."""
    return wrote(as_plain(config), start_from="nan")


def set_up(config: TrainConfig) -> Any:
    """What torch is told beside its numbers."""
    told: list[Any] = []

    def stop(*rest: Any) -> None:
        raise UserError("all is told")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transformer, "compile", lambda model, **how: told.append(how))
        patch.setattr(loop, "allow_fast_products", lambda precision, device: told.append(precision))
        patch.setattr(loop, "precision_of", lambda precision, device: told.append(precision) or torch.float32)
        patch.setattr(loop, "_run", stop)
        wrote(as_plain(config))
    return told


LOOKS = [
    Look(
        name="wrote", kind=TrainConfig, see=by_train, sees=ALL - {"compile", "most_skipped"}, base=BASE,
        tries={"precision": ["bf16"]}, apart=frozenset({"compile"}),
    ),
    Look(
        name="skipped", kind=TrainConfig, see=of_nothing, sees=frozenset({"most_skipped"}),
        base={**BASE, "log_every": 1}, apart=ALL - {"most_skipped"},
    ),
    Look(
        name="set-up", kind=TrainConfig, see=set_up, sees=frozenset({"compile", "precision"}), base=BASE,
        apart=ALL - {"compile", "precision"},
    ),
]  # fmt: skip


@looks_at_keys(*LOOKS)
def test_a_key_changes_exactly_what_it_is_about(look, key) -> None:
    look.check(key)


def test_every_key_is_noticed() -> None:
    assert unnoticed(TrainConfig, *LOOKS) == []


@pytest.mark.parametrize("precision", ["tf32", "fp16"])
def test_products_and_their_type_are_of_the_precision_that_is_asked_for(precision) -> None:
    assert set_up(TrainConfig(**{**BASE, "precision": precision})) == [precision, precision]


RUN = Look(
    name="of-run",
    kind=RunConfig,
    see=by_run,
    sees=frozenset({"objective", "seed", "start_from", "model", "train"}),
    base={**as_plain(tiny.run_config("masked", train={**BASE, "steps": 2}, model={"max_positions": 24}))},
    tries={
        "corpus": ["other"],
        "target_side": ["distilled"],
        "objective": [{"label_smoothing": 0.3}, {"name": "axe"}],
        "start_from": ["other"],
        "model": [{"dropout": 0.5}],
        "train": [{"steps": 3}],
        "decode": [{"iterations": 3}],
    },
)


@looks_at_keys(RUN)
def test_a_section_of_a_run_matters_to_its_training_if_it_is_about_it(look, key) -> None:
    look.check(key)


def test_every_section_of_a_run_is_asked_about() -> None:
    """Those that no training notices are seen elsewhere: where its files lie, and how it is decoded."""
    assert unnoticed(RunConfig, RUN, apart=("corpus", "target_side", "decode")) == []


def test_the_first_weights_are_drawn_from_the_runs_seed() -> None:
    """With a rate of almost nothing, validations see first weights alone: no dropout, and always the same masks."""
    still = {**BASE, "steps": 1, "peak_lr": 1e-30, "warmup_steps": 1, "weight_decay": 0.0, "validate_every": 1}
    losses = [wrote(still, seed=seed)[2][0]["loss"] for seed in (1, 2, 1)]
    assert losses[0] == losses[2] != losses[1]
