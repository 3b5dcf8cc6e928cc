"""What the files of a finished study say, next to what other tools make of the files that they came from."""

import contextlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from axenat.cli import main
from axenat.data.corpus import ParallelCorpus
from axenat.data.side import Side
from axenat.files import read_yaml
from tests.support import warm
from tests.support.planned_jobs import Job

REFERENCES = ("{split}.de", *(f"{{split}}.ref{number}.de" for number in range(1, 8)))


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def bleu_of(texts: list[Path], data: Path, split: str) -> list[float]:
    """As the command of sacrebleu prints it, against all references of a split."""
    references = [str(data / name.format(split=split)) for name in REFERENCES]
    words = [*references, "-i", *map(str, texts), "-m", "bleu", "-w", "10", "-f", "json"]
    done = subprocess.run([str(warm.commands() / "sacrebleu"), *words], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    # Of a single text it prints no list.
    return [float(one["BLEU"]) for one in found] if isinstance(found, list) else [float(found["score"])]


def scores(folder: Path) -> tuple[list[float], list[float]]:
    """Of every decoding of every run: what is written, and what sacrebleu makes of the written text."""
    files = sorted(folder.glob("results/runs/*/test/*.score.json"))
    texts = [path.with_name(path.name.replace(".score.json", ".txt")) for path in files]
    return [read(path)["bleu"] for path in files], bleu_of(texts, folder / "data/demo", "test")


def num_lines(folder: Path) -> dict[str, set[int]]:
    """By split: lengths of its texts, clean texts, ids, and translations."""
    corpus = folder / "results/corpora/demo"
    return {
        split: {
            *(len(lines(corpus / f"clean/{split}.{side}")) for side in ("source", "target")),
            *(len(ParallelCorpus(path)) for path in corpus.glob(f"*/{split}.safetensors")),
            *(len(lines(path)) for path in folder.glob(f"results/runs/*/{split}/*.txt")),
            *(len(lines(path)) for path in folder.glob(f"data/demo/{split}.*") if path.suffix in (".en", ".de")),
            *(len(lines(path)) for path in corpus.glob(f"distilled/{split}.target")),
        }
        for split in ("train", "valid", "test")
    }


def averages(run: Path) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The model, and by hand the mean of the two checkpoints whose valid loss in the history is lowest."""
    history = [json.loads(line) for line in lines(run / "history.jsonl")]
    losses = {entry["step"]: entry["loss"] for entry in history if entry["kind"] == "valid"}
    steps = sorted(losses, key=lambda step: losses[step])[:2]
    assert len(losses) == 4
    best = [load_file(run / f"checkpoints/step-{step:07}.safetensors") for step in steps]
    return load_file(run / "model.safetensors"), {name: (best[0][name] + best[1][name]) / 2 for name in best[0]}


def tuning(run: Path) -> tuple[dict[str, Any], dict[float, float], set[float]]:
    """What was tuned, the score of each value that was tried, and the values that the run is to try."""
    tuned, decode = read(run / "tuned.json"), read_yaml(run / "decode.yaml")
    key = "length_penalties" if run.name == "teacher" else "length_multipliers"
    return tuned, {entry["value"]: entry["bleu"] for entry in tuned["candidates"]}, set(decode[key])


def distilled_lines(corpus: Path) -> list[tuple[str, str, str]]:
    """Each target of the distilled side, the teacher's translation, and the real target."""
    real, distilled = (lines(corpus / f"{name}/train.target") for name in ("clean", "distilled"))
    parts = [lines(corpus / f"distilled/shards/{number}-of-2.target") for number in (1, 2)]
    return list(zip(distilled, [*parts[0], *parts[1]], real, strict=True))


def words_of_ids(corpus: Path, variant: str) -> list[str]:
    """The target side of train, as the models see it, turned back into words."""
    ids, side = ParallelCorpus(corpus / variant / "train.safetensors"), Side.load(corpus / "subwords", "target")
    every = (side.vocab.decode(ids.target(number)[:-1].tolist()) for number in range(len(ids)))
    return [side.words(" ".join(tokens)) for tokens in every]


def again(job: Job, folder: Path, elsewhere: Path) -> dict[str, bool]:
    """Run a job's command where only its declared inputs are: whether each output has the same bytes again."""
    for path in job.inputs:
        (elsewhere / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / path, elsewhere / path)
    elsewhere.mkdir(exist_ok=True)
    words = list(job.command[1 : job.command.index("2>")])
    shown = words[words.index(">") + 1 :] if ">" in words else ["shown.txt"]
    with contextlib.chdir(elsewhere):
        for path in job.outputs:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(shown[0], "w", encoding="utf-8") as stream, contextlib.redirect_stdout(stream):
            assert main(words[: words.index(">")] if ">" in words else words) == 0, job.name
    return {path: (elsewhere / path).read_bytes() == (folder / path).read_bytes() for path in job.outputs}
