"""A run of the demo study on a small corpus, trained by the real command in a process of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from axenat.corpus_config import SubwordsConfig
from axenat.data.corpus import vocab_metadata
from axenat.data.corpus_writer import write_corpus
from axenat.data.demo import demo_corpus
from axenat.data.learning import learn_sides, save_all
from axenat.data.subwords import Subwords, count_words
from axenat.data.text_section import TextSection
from axenat.files import read_yaml, sha256_of, write_yaml
from axenat.records import merge
from axenat.study import parse_study

CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"
AXENAT = [sys.executable, "-m", "axenat.cli"]


def wait_for(condition, process, seconds: float = 60) -> bool:
    """Busy, since what is waited for may last less than a millisecond; False if the process ends before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        if process.poll() is not None:
            return False
    raise AssertionError("waited in vain")


class DemoData:
    """Ids, codes and vocabularies of a small demo corpus."""

    def __init__(self, folder: Path, train: int = 400, valid: int = 40) -> None:
        self.folder = folder
        lines = demo_corpus(seed=1, train=train, valid=valid, test=1, references=1)
        words = count_words(lines["train.en"]), count_words(lines["train.de"])
        learnt = learn_sides(words, SubwordsConfig(merges=300))
        save_all(folder, TextSection(source_language="en", target_language="de"), learnt, None)
        subwords, vocab = Subwords(learnt[0].codes), learnt[0].vocab
        for split in ("train", "valid"):
            sides = ([vocab.encode(subwords.apply(line)) for line in lines[f"{split}.{end}"]] for end in ("en", "de"))
            write_corpus(self.ids(split), *sides, metadata=vocab_metadata(vocab, vocab))

    def ids(self, split: str) -> Path:
        return self.folder / f"{split}.safetensors"


class DemoRun:
    """`axe-distilled` or another run of the demo, with other `train` keys, and some dropout."""

    def __init__(self, data: DemoData, folder: Path, run: str = "axe-distilled", **train: Any) -> None:
        self.data, self.folder, self.checkpoints = data, folder, folder / "checkpoints"
        changes = {"train": train, "model": {"dropout": 0.1}}
        study = parse_study(merge(read_yaml(CONFIG), {"runs": {run: changes}}))
        write_yaml(folder / "config.yaml", study.section("runs", run, "config"))

    def command(self, *flags: str) -> list[str]:
        files = {
            "config": self.folder / "config.yaml", "train": self.data.ids("train"), "valid": self.data.ids("valid"),
            "subwords": self.data.folder, "out": self.folder,
        }  # fmt: skip
        words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
        return ["train", *words, "--threads", "1", "--device", "cpu", *flags]

    def start(self, *flags: str, launcher: list[str] = AXENAT, **options: Any) -> "subprocess.Popen[str]":
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [*launcher, *self.command(*flags)], cwd=self.folder, env=environment, stderr=subprocess.PIPE, text=True,
            **options,
        )  # fmt: skip

    def train(self, *flags: str, **options: Any) -> tuple[int, str]:
        """To its end: exit code and what it said."""
        process = self.start(*flags, **options)
        said = process.communicate(timeout=300)[1]
        return process.returncode, said

    def model(self) -> str:
        """The sum of the averaged model."""
        words = ["--best", self.folder / "best.json", "--subwords", self.data.folder, "--out", self.folder]
        subprocess.run([*AXENAT, "average", *map(str, words)], check=True)
        return sha256_of(self.folder / "model.safetensors")

    def outcome(self) -> tuple[str, str]:
        return self.model(), sha256_of(self.folder / "history.jsonl")

    def states(self) -> list[Path]:
        return sorted(self.checkpoints.glob("state-*.safetensors"))

    def speed(self) -> list[str]:
        path = self.checkpoints / "speed.jsonl"
        return path.read_text().splitlines() if path.exists() else []
