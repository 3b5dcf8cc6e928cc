"""The demo corpus: synthetic English-German pairs, several references, and a judge for every held-out sentence."""

import random

from axenat.data.grammar import english
from axenat.data.lattice import Lattice, pattern, sample, sample_distinct
from axenat.data.meanings import sample_meaning


def demo_corpus(
    *, seed: int, train: int = 20_000, valid: int = 500, test: int = 500, references: int = 8
) -> dict[str, list[str]]:
    """File name to lines. `{split}.de` is the first reference, `.ref1.de` and so on the others, `.accept` the judge."""
    rng = random.Random(seed)
    held_out: set[str] = set()
    files: dict[str, list[str]] = {}
    for split, size in (("test", test), ("valid", valid)):
        pairs = _pairs(rng, size, held_out, distinct=True)
        files[f"{split}.en"] = [plain(f"{source} .") for source, _ in pairs]
        translations = [sample_distinct(lattice, rng, references) for _, lattice in pairs]
        for index in range(references):
            name = f"{split}.ref{index}.de" if index else f"{split}.de"
            files[name] = [plain(f"{translation[index]} .") for translation in translations]
        files[f"{split}.accept"] = [pattern(lattice) for _, lattice in pairs]
    pairs = _pairs(rng, train, held_out, distinct=False)
    files["train.en"] = [plain(f"{source} .") for source, _ in pairs]
    files["train.de"] = [plain(f"{sample(lattice, rng)} .") for _, lattice in pairs]
    return files


def plain(tokenised: str) -> str:
    """Tokenised words as a person writes them; full stop and comma are the only punctuation here."""
    return tokenised.replace(" ,", ",").replace(" .", ".")


def _pairs(rng: random.Random, size: int, held_out: set[str], distinct: bool) -> list[tuple[str, Lattice]]:
    """Sources outside `held_out` with their translations; with `distinct`, they join it one by one."""
    pairs: list[tuple[str, Lattice]] = []
    while len(pairs) < size:
        meaning, lattice = sample_meaning(rng)
        source = english(meaning)
        if source not in held_out:
            pairs.append((source, lattice))
            if distinct:
                held_out.add(source)
    return pairs
