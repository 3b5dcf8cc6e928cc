"""The first weights of a training: those of another run instead of random ones."""

from pathlib import Path

from torch import nn

from axenat.train.average import check_texts
from axenat.train.checkpoint import load_tensors, load_weights

LENGTH_HEAD = ("lengths.weight",)  # masked models predict a length, left-to-right ones do not


def start_from(model: nn.Module, path: Path, subwords: Path) -> None:
    """The weights in `path`, trained on text of the same `subwords`; a length head that it lacks stays random.

    Differs from the paper: it starts from random weights.
    """
    tensors, metadata = load_tensors(path)
    check_texts(subwords, metadata)
    load_weights(model, tensors, path, may_lack=LENGTH_HEAD)
