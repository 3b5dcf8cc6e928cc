"""`axenat speed`: what a clock says of a study, trainings from their logs and decoding measured side by side.

No two runs agree on it, so it lies apart from results that do.
"""

import argparse
import platform
from pathlib import Path
from typing import Any

import torch

from axenat.decode.speed import decoding_speeds
from axenat.decode.translator import Translator
from axenat.files import UserError, read_lines, read_mapping, write_json
from axenat.train.devices import device_of, use_threads
from axenat.train.speed import training_speed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", nargs="*", type=Path, default=[], help="folders of the runs whose trainings count")
    parser.add_argument("--benchmarks", type=Path, help="folder of Snakemake's {run}.tsv of each training")
    parser.add_argument("--models", nargs="*", default=[], help="what is decoded, as folder of a run:decoding")
    parser.add_argument(
        "--sources", nargs="*", type=Path, default=[], help="plain source text for each of these models"
    )
    parser.add_argument("--sentences", type=int, default=200, help="so many are decoded (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each system (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="speed.json to write")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")


def main(args: argparse.Namespace) -> None:
    use_threads(args.threads)
    for name in ("sentences", "rounds"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name} {getattr(args, name)}: must be at least 1")
    if len(args.models) != len(args.sources):
        raise UserError(f"{len(args.models)} models but {len(args.sources)} sources; each model needs its text")
    device = device_of(args.device)
    texts: dict[Path, list[Translator]] = {}
    for model, source in zip(args.models, args.sources, strict=True):
        folder, _, decoding = model.partition(":")
        texts.setdefault(source, []).append(Translator(folder, device, decoding or None))
    decoding = []
    for source, translators in texts.items():
        decoding += decoding_speeds(translators, read_lines(source)[: args.sentences], args.rounds)
    write_json(
        args.out,
        {
            "machine": {"processor": platform.processor() or platform.machine(), "device": str(device),
                        "threads": torch.get_num_threads(), "torch": torch.__version__},
            "rounds": args.rounds,
            "training": [_training(folder, args.benchmarks) for folder in args.runs],
            "decoding": decoding,
        },
    )  # fmt: skip


def _training(folder: Path, benchmarks: Path | None) -> dict[str, Any]:
    config = read_mapping(folder / "config.yaml", "run", "corpus", "objective.name", "target_side", "model", "train")
    return {
        "run": config["run"],
        "corpus": config["corpus"],
        "objective": config["objective"]["name"],
        "target_side": config["target_side"],
        # Trainings of the same shape are comparable: model, and tokens in a step.
        "model": config["model"],
        "steps": config["train"]["steps"],
        "tokens_per_step": config["train"]["tokens_per_step"],
        **training_speed(folder, benchmarks / f"{folder.name}.tsv" if benchmarks else None),
    }
