"""`axenat train`: one run, teacher or student, from ids to its best checkpoints."""

import argparse
from pathlib import Path

from axenat.data.corpus import ParallelCorpus
from axenat.data.vocab import Vocab
from axenat.decode.translator import new_model, read_run_config
from axenat.files import read_yaml, write_json, write_text
from axenat.objectives.registry import objective_of
from axenat.stages.provenance import provenance
from axenat.tracking import following
from axenat.train.devices import device_of, use_threads
from axenat.train.loop import Setting, fingerprint, forget_state, seeded_model, train


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="config.yaml of the run")
    parser.add_argument("--train", type=Path, required=True, help="ids of the train split")
    parser.add_argument("--valid", type=Path, required=True, help="ids of the valid split")
    parser.add_argument("--subwords", type=Path, required=True, help="folder with the vocabularies")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")


def main(args: argparse.Namespace) -> None:
    use_threads(args.threads)
    folder = read_run_config(args.config)
    source_vocab, target_vocab = (Vocab.load(args.subwords / f"vocab.{side}") for side in ("source", "target"))
    train_ids, valid_ids = ParallelCorpus(args.train), ParallelCorpus(args.valid)
    for corpus in (train_ids, valid_ids):
        corpus.check_vocab(source_vocab, target_vocab)
    device, objective = device_of(args.device), objective_of(folder.run.objective)
    model = seeded_model(folder.run.seed, lambda: new_model(folder, objective, source_vocab, target_vocab))
    setting = Setting(folder.run, model.to(device), objective, train_ids, valid_ids, args.out / "checkpoints", device)
    with following(args.out):
        state = train(setting, fingerprint(read_yaml(args.config), args.train, args.valid))
    write_text(args.out / "history.jsonl", setting.history.read_text(encoding="utf-8"))
    write_json(args.out / "provenance.json", provenance(device, args.train))
    write_json(args.out / "best.json", {"run": folder.name, "checkpoints": state.best})
    forget_state(setting)
