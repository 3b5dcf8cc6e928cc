"""A training writes the numbers of a training by hand: every line of the history, every weight."""

import pytest
import torch

from axenat.data.corpus_writer import write_corpus
from axenat.train.loop import train
from tests.reference.training import slow_training
from tests.train.test_loop import history, setting

# Pairwise different, so that no two can be mistaken for each other.
TRAIN = {
    "steps": 9,
    "warmup_steps": 3,
    "peak_lr": 0.02,
    "weight_decay": 0.3,
    "adam_beta1": 0.8,
    "adam_beta2": 0.95,
    "adam_eps": 1e-4,
    "tokens_per_step": 70,
    "tokens_per_batch": 24,
}
SECTIONS = [
    (
        "left_to_right",
        {"label_smoothing": 0.2},
        {"log_every": 1, "validate_every": 4, "clip_norm": 2.0, "weight_decay_kind": "l2"},
    ),
    (
        "masked",
        {"normalise": "sentences", "length_loss_weight": 0.4},
        {"log_every": 2, "validate_every": 0, "clip_norm": 6.0},
    ),
    (
        "axe",
        {"skip_target_penalty": 3.0, "train_length_multiplier": 0.7, "smoothing": "inside", "length_loss_weight": 0.6},
        {"log_every": 2, "validate_every": 5, "clip_norm": 2.5, "tokens_per_batch": 70},
    ),
]


@pytest.fixture(autouse=True)
def _double():
    """Rounding errors that Adam would enlarge are too small to see."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def write_corpora(folder) -> None:
    """Sources and targets have other words and other lengths."""
    for split, size, seed in (("train", 40, 1), ("valid", 12, 2)):
        rng = torch.Generator().manual_seed(seed)
        sides = []
        for longest in (7, 4):
            lengths = torch.randint(1, longest + 1, (size,), generator=rng).tolist()
            sides.append([torch.randint(6, 10, (length,), generator=rng).tolist() for length in lengths])
        write_corpus(folder / f"{split}.safetensors", *sides, metadata={})


@pytest.mark.parametrize(("name", "objective", "train_keys"), SECTIONS, ids=[name for name, *_ in SECTIONS])
def test_a_training_is_the_one_by_hand(tmp_path, name, objective, train_keys) -> None:
    write_corpora(tmp_path)
    sections = {"objective": {"observe": "none", **objective}, "train": {**TRAIN, **train_keys}, "seed": 5}
    one, slow = (setting(tmp_path, name, folder, **sections) for folder in ("checkpoints", "slow"))
    state = train(one, "mark")
    lines = slow_training(slow.model, slow.objective, slow.run.train, slow.train, slow.valid, seed=5)
    norms = [line["grad_norm"] for line in lines if line["kind"] == "train"]
    assert min(norms) < one.run.train.clip_norm < max(norms), "some steps are clipped and others are not"
    assert lines[-1]["epoch"] >= 1, "the second epoch counts as well"
    losses = {line["step"]: line["loss"] for line in lines if line["kind"] == "valid"}
    for found, expected in zip(history(one), lines, strict=True):
        assert found.pop("kind") == expected.pop("kind")
        assert found == pytest.approx(expected, rel=1e-5)
    for found, expected in zip(one.model.parameters(), slow.model.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert [entry["step"] for entry in state.best] == sorted(losses, key=losses.__getitem__)
