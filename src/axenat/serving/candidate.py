"""A tuned run as the registry should know it: under which name, with which tags, from which files."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axenat.files import UserError, iter_lines, read_mapping, read_record, sha256_of
from axenat.layout import MODEL_FILES, provenance_in
from axenat.notes import is_of_what_is_there
from axenat.systems.registry import TEACHERS

FILES = (*MODEL_FILES, "tuned.json")  # all that translates: weights, vocabulary, lambda and ell
EXAMPLE_LINES = 2


class StaleError(UserError):
    """What was tuned is not the model that is there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    name: str
    folder: Path
    fingerprint: str  # of all its files: the same model is registered once
    tags: dict[str, str]
    example: tuple[str, ...]

    @property
    def run(self) -> str:
        return self.tags["run"]

    @property
    def files(self) -> dict[str, Path]:
        return {name: self.folder / name for name in FILES}


def model_name(corpus: str, objective: str) -> str:
    """One model of a corpus translates in parallel; teachers, which beat it and are slow, are a model of their own."""
    return f"axenat-{corpus}-teacher" if objective in TEACHERS else f"axenat-{corpus}"


def candidate(folder: Path, data: Path, data_version: str | None) -> Candidate:
    """From a run's folder and the raw text of its corpus, `data`/<corpus>."""
    config = read_mapping(folder / "config.yaml", "run", "corpus", "objective.name", "source_language")
    tuned = read_record(folder / "tuned.json", "key", "value", "bleu", "signature")
    made, sums = provenance_in(folder), {name: _sum_of(folder / name) for name in FILES}
    if not is_of_what_is_there(folder / "tuned.json", folder):
        words = "was trained again since it was tuned; run the study first, or `axenat adopt` after `dvc checkout`"
        raise StaleError(f"{folder} {words}")
    source, *others = _valid_text(data / config["corpus"], config)
    tags = {
        "run": config["run"], "corpus": config["corpus"], "objective": config["objective"]["name"],
        "target_side": config.get("target_side"), tuned["key"]: tuned["value"],
        "valid_bleu": tuned["bleu"], "bleu_signature": tuned["signature"],
        "valid_sha256": _digest(map(sha256_of, (source, *others))), "model_sha256": sums["model.safetensors"],
        "commit": made.get("commit"), "dirty": made.get("dirty"), "data_version": data_version,
    }  # fmt: skip
    return Candidate(
        name=model_name(tags["corpus"], tags["objective"]),
        folder=folder,
        fingerprint=_digest(sums.values()),
        tags={key: str(value) for key, value in tags.items() if value is not None},
        example=_first_lines(source),
    )


def _sum_of(path: Path) -> str:
    if not path.exists():
        raise UserError(f"{path}: no such file; only a tuned run can be registered")
    return sha256_of(path)


def _digest(sums: Any) -> str:
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()


def _valid_text(folder: Path, config: dict[str, Any]) -> list[Path]:
    """What valid BLEU was measured on: the source, then the references."""
    source = folder / f"valid.{config['source_language']}"
    if not source.exists():
        raise UserError(f"{source}: no such file; without its valid text no model can be compared with others")
    references = folder.glob(f"valid*.{config['target_language']}")
    return [source, *sorted(references)]


def _first_lines(path: Path) -> tuple[str, ...]:
    lines = iter_lines(path)
    return tuple(line for line, _ in zip(lines, range(EXAMPLE_LINES), strict=False))
