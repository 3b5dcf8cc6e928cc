"""A corpus and three trained runs in a folder, with settings that differ wherever a mix-up could hide."""

import argparse
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
        self.runs = {name: path / "runs" / name for name in OBJECTIVES}
        for name, folder in self.runs.items():
            self.make(name, folder)
        self.distil(shards=2)

    def words(self, split: str, side: str) -> Path:
        return self.corpus / f"{split}.{side}"

    def ids(self, split: str) -> Path:
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
        write_yaml(folder / "decode.yaml", {"run": name, "tuned_key": config.tuned_key, **decode})

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

    def distil(self, shards: int) -> None:
        """The teacher's translations of train, as `distilled.target`, `distilled.safetensors` and in shards."""
        teacher, names = self.runs["teacher"], [f"{number}-of-{shards}" for number in range(1, shards + 1)]
        out = {name: self.corpus / "shards" / name for name in names}
        source = self.words("train", "source")
        for name, path in out.items():
            files = {"out": path.with_suffix(".target"), "record": path.with_suffix(".json")}
            run(distil, model=teacher, source=source, shard=name, **files, threads=1, device="cpu")
        run(
            gather,
            config=self.path / "clean.yaml",
            shards=[path.with_suffix(".target") for path in out.values()],
            records=[path.with_suffix(".json") for path in out.values()],
            source=source,
            target=self.words("train", "target"),
            teacher=teacher,
            out=self.corpus / "distilled.target",
            manifest=self.corpus / "distilled.json",
        )
        self.encode("train", target=self.corpus / "distilled.target", out=self.ids("distilled"))
