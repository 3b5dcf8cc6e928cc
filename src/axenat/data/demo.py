"""The demo corpus: synthetic English-German pairs, with several references and a judge for held-out ones."""

import random
from collections.abc import Iterator

from axenat.data.lattice import Lattice, pattern, sample, sample_distinct
from axenat.data.meanings import sample_sentence


def demo_corpus(
    *, seed: int, train: int = 20_000, valid: int = 500, test: int = 500, references: int = 8
) -> dict[str, list[str]]:
    """Lines by file name: `{split}.de` is reference 0, `.ref1.de` and so on are others, `.accept` judges."""
    rng = random.Random(seed)
    held_out: set[str] = set()
    files: dict[str, list[str]] = {}
    for split, size in (("test", test), ("valid", valid)):
        lattices = []
        for source, lattice in _sentences(rng, size, held_out):
            held_out.add(source)
            files.setdefault(f"{split}.en", []).append(plain(source))
            lattices.append(lattice)
        translations = [sample_distinct(lattice, rng, references) for lattice in lattices]
        for index in range(references):
            name = f"{split}.ref{index}.de" if index else f"{split}.de"
            files[name] = [plain(options[index]) for options in translations]
        files[f"{split}.accept"] = [pattern(lattice) for lattice in lattices]
    files |= {"train.en": [], "train.de": []}
    for source, lattice in _sentences(rng, train, held_out):
        files["train.en"].append(plain(source))
        files["train.de"].append(plain(sample(lattice, rng)))
    return files


def plain(tokenised: str) -> str:
    """A sentence as a person writes it; the grammar leaves out the full stop and has no other punctuation."""
    return f"{tokenised}."


def _sentences(rng: random.Random, size: int, held_out: set[str]) -> Iterator[tuple[str, Lattice]]:
    """As many sources with their translations, none of them in `held_out`, which may grow on the way."""
    while size:
        source, lattice = sample_sentence(rng)
        if source not in held_out:
            size -= 1
            yield source, lattice
