"""Which version of a registered model is the champion: the best on valid, among those that can be compared."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """A registered model as its tags tell of it."""

    number: int
    run: str
    bleu: float  # on valid, with the tuned decoding
    measure: tuple[str, str]  # valid text and BLEU signature: of different ones no number can be compared

    def __str__(self) -> str:
        return f"version {self.number} ({self.run}, valid BLEU {self.bleu:.2f})"


def why_not_champion(version: Version, versions: Iterable[Version], champion: Version | int | None) -> str:
    """In words; empty if it is the best. Among equals the oldest stays. `champion` may be one that tells nothing."""
    if champion is not None and not (isinstance(champion, Version) and champion.measure == version.measure):
        words = "was measured on other valid text or in another way; move the alias by hand (mlflow ui) if it should"
        number = champion.number if isinstance(champion, Version) else champion
        return f"the champion, version {number}, {words}"
    rivals = [other for other in versions if other.measure == version.measure]
    best = min([version, *rivals], key=lambda one: (-one.bleu, one.number))
    if best.number == version.number:
        return ""
    return f"{best} is {'better' if best.bleu > version.bleu else 'as good, and older'}"
