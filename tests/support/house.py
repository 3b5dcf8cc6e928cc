"""A corpus and three small runs in a folder, with settings that differ wherever a mix-up could hide."""

import argparse
from functools import cached_property
from pathlib import Path
from typing import Any

from axenat.files import write_yaml
from axenat.records import as_plain
from axenat.stages import average, clean, distil, download, encode, gather, learn_subwords, train, tune
from tests import tiny

GRAMMAR = {"seed": 3, "train": 120, "valid": 11, "test": 7}
DOWNLOAD = {
    "grammar": GRAMMAR,
    "folder": None,
    "references": 3,
    "judged": True,
    "source_language": "en",
    "target_language": "de",
}
CLEAN = {"min_length": 1, "max_length": 80, "max_ratio": 9.0, "drop_duplicates": False}
LANGUAGES = {"source_language": "en", "target_language": "de"}
# One bucket stays empty. Some sentences are short, some are long, some lie between, and some on either threshold.
ANALYSIS = {"length_bounds": [1, 5, 11, 12, 14], "short_below": 13, "long_above": 15}
MERGES = 1000
OBJECTIVES = {"teacher": "left_to_right", "ce": "masked", "axe": "axe"}
DELTA = 3.0
# More predictions than targets: so AXE skips some of both, and how many depends on delta.
OBJECTIVE = {"axe": {"observe": "none", "train_length_multiplier": 1.25, "skip_target_penalty": DELTA}}
MODEL = {"max_positions": 128, "width": 32, "hidden": 64, "decoder_layers": 1, "init_std": 0.1}
VALIDATIONS, KEEP_BEST = 4, 2
# The best of each grid is not its first, which serves before tuning.
PENALTIES, MULTIPLIERS = [1.5, 0.1], [1.0, 1.4]
TRAIN = {
    "steps": 40,
    "peak_lr": 0.02,
    "warmup_steps": 10,
    "tokens_per_step": 800,
    "tokens_per_batch": 400,
    "validate_every": 10,
    "keep_best": KEEP_BEST,
    "log_every": 1,
}
DECODE = {
    "beam_size": 2,
    "length_penalties": PENALTIES,
    "length_multipliers": MULTIPLIERS,
    "num_length_candidates": 2,
}


def run(stage: Any, **flags: Any) -> None:
    """A stage by its flags, spelled with underscores."""
    parser = argparse.ArgumentParser()
    stage.add_arguments(parser)
    words: list[str] = []
    for name, value in flags.items():
        words += [f"--{name.replace('_', '-')}", *(map(str, value) if isinstance(value, list) else [str(value)])]
    stage.main(parser.parse_args(words))


def download_all(path: Path, config: dict[str, Any], out: Path) -> None:
    for split in ("train", "valid", "test"):
        write_yaml(path / "download.yaml", {"split": split, **config})
        run(download, config=path / "download.yaml", out=out)


class Runs(dict[str, Path]):
    """The folder of each run, which is trained when it is first asked for."""

    def __init__(self, house: "House") -> None:
        self.house = house

    def __missing__(self, name: str) -> Path:
        self[name] = self.house.path / "runs" / name
        self.house.make(name, self[name])
        return self[name]


class House:
    """Nobody may change what is in it: tests that need another file write it elsewhere."""

    def __init__(self, path: Path) -> None:
        self.path, self.data, self.corpus = path, path / "data", path / "corpus"
        self.subwords = self.corpus / "subwords"
        write_yaml(path / "clean.yaml", CLEAN | LANGUAGES)
        write_yaml(path / "analysis.yaml", ANALYSIS)
        write_yaml(path / "subwords.yaml", {"merges": MERGES, "joint": False, **LANGUAGES})
        download_all(path, DOWNLOAD, self.data)
        for split in ("train", "valid", "test"):
            self.clean(split)
        self.learn_subwords()
        for split in ("train", "valid", "test"):
            self.encode(split)
        self.runs = Runs(self)

    def words(self, split: str, side: str) -> Path:
        return self.corpus / f"{split}.{side}"

    def ids(self, split: str) -> Path:
        """Also of `distilled`, train with the teacher's targets."""
        if split == "distilled":
            return self.distilled / "train.safetensors"
        return self.corpus / f"{split}.safetensors"

    def references(self, split: str) -> list[Path]:
        return [self.data / f"{split}{reference}.de" for reference in ("", ".ref1", ".ref2")]

    def clean(self, split: str) -> None:
        run(
            clean,
            config=self.path / "clean.yaml",
            split=split,
            source=self.data / f"{split}.en",
            target=self.data / f"{split}.de",
            out_source=self.words(split, "source"),
            out_target=self.words(split, "target"),
            counts=self.corpus / f"{split}.counts.json",
            threads=1,
        )

    def learn_subwords(self) -> None:
        sides = {side: self.words("train", side) for side in ("source", "target")}
        run(learn_subwords, config=self.path / "subwords.yaml", **sides, out=self.subwords, threads=1)

    def encode(self, split: str, **flags: Any) -> None:
        sides = {side: self.words(split, side) for side in ("source", "target")}
        run(encode, **{"subwords": self.subwords, **sides, "out": self.ids(split), "threads": 1, **flags})

    def write_config(self, folder: Path, name: str, start: str | None = None, **sections: Any) -> None:
        """config.yaml and decode.yaml of a run; keys of `train`, or whole sections as mappings."""
        own = {key: sections.pop(key) for key in ("model", "objective", "decode", "seed") if key in sections}
        config = tiny.run_config(
            OBJECTIVES[name],
            objective={**OBJECTIVE.get(name, {}), **own.get("objective", {})},
            model={**MODEL, **own.get("model", {})},
            train={**TRAIN, **sections},
            decode={**DECODE, **own.get("decode", {})},
            seed=own.get("seed", 2),
        )
        plain = as_plain(config)
        decode = plain.pop("decode")
        write_yaml(folder / "config.yaml", {"run": name, **plain, "start_from": start, **LANGUAGES, "joint": False})
        write_yaml(folder / "decode.yaml", {"run": name, "tuned_key": config.system.decoding.tuned.key, **decode})

    def train(self, folder: Path, **flags: Any) -> None:
        ids = {split: self.ids(split) for split in ("train", "valid")}
        flags = {"subwords": self.subwords, "out": folder, "threads": 1, "device": "cpu", **ids, **flags}
        run(train, config=folder / "config.yaml", **flags)

    def tune(self, folder: Path, out: Path) -> None:
        references = self.references("valid")
        run(tune, model=folder, source=self.data / "valid.en", references=references, out=out, threads=1)

    def make(self, name: str, folder: Path) -> None:
        self.write_config(folder, name)
        self.train(folder)
        run(average, best=folder / "best.json", subwords=self.subwords, out=folder)
        self.tune(folder, folder / "tuned.json")

    @cached_property
    def distilled(self) -> Path:
        """A folder with `train.target`, the teacher's translations of train, their ids, and both shards."""
        folder, teacher, source = self.path / "distilled", self.runs["teacher"], self.words("train", "source")
        texts, records = ([folder / f"{n}-of-2.{ending}" for n in (1, 2)] for ending in ("target", "json"))
        for text, record in zip(texts, records, strict=True):
            files = {"source": source, "out": text, "record": record}
            run(distil, model=teacher, shard=text.stem, **files, threads=1, device="cpu")
        run(
            gather,
            config=self.path / "clean.yaml",
            shards=texts,
            records=records,
            source=source,
            target=self.words("train", "target"),
            teacher=teacher,
            out=folder / "train.target",
            manifest=folder / "manifest.json",
        )
        self.encode("train", target=folder / "train.target", out=folder / "train.safetensors")
        return folder
