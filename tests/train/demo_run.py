"""A run of the demo study on a small corpus, trained by `axenat train` in a process of its own."""

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
from axenat.stages import average
from axenat.study import parse_study
from tests.support import warm
from tests.support.house import run as run_stage

CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"
# The real command, for what happens before a program is at work and for all processes that it starts.
AXENAT = [sys.executable, "-m", "axenat.cli"]


def wait_for(condition, process, seconds: float = 60, pause: float = 0.005) -> bool:
    """False if the process ends before. Without a pause it sees what lasts less than a millisecond."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        if process.poll() is not None:
            return False
        time.sleep(pause)
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

    def start(self, *flags: str, launcher: list[str] | None = None, **options: Any) -> "subprocess.Popen[str]":
        options |= {"cwd": self.folder, "env": {**os.environ, "OMP_NUM_THREADS": "1"}, "stderr": subprocess.PIPE}
        if launcher is None:
            return warm.Process(self.command(*flags), **options)
        return subprocess.Popen([*launcher, *self.command(*flags)], text=True, **options)

    def train(self, *flags: str, **options: Any) -> tuple[int, str]:
        """To its end: exit code and what it said."""
        process = self.start(*flags, **options)
        said = process.communicate(timeout=300)[1]
        return process.returncode, said

    def model(self) -> str:
        """The sum of the averaged model."""
        run_stage(average, best=self.folder / "best.json", subwords=self.data.folder, out=self.folder)
        return sha256_of(self.folder / "model.safetensors")

    def outcome(self) -> tuple[str, str]:
        return self.model(), sha256_of(self.folder / "history.jsonl")

    def states(self) -> list[Path]:
        return sorted(self.checkpoints.glob("state-*.safetensors"))

    def speed(self) -> list[str]:
        path = self.checkpoints / "speed.jsonl"
        return path.read_text().splitlines() if path.exists() else []
