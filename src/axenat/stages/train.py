"""`axenat train`: one run, teacher or student, from ids to its best checkpoints.

On several devices under torchrun or srun, one process each. SIGTERM and SIGUSR1 save the state and end with exit
code 75; the same command goes on from there, also after a kill.
"""

import argparse
import logging
import math
from pathlib import Path

from axenat.data.corpus import ParallelCorpus
from axenat.data.vocab import Vocab
from axenat.decode.translator import new_model, read_run_config
from axenat.files import UserError, read_yaml, sha256_of, write_json, write_lines, write_text
from axenat.objectives.registry import objective_of
from axenat.publishing.follow import following
from axenat.stages.provenance import provenance
from axenat.train.checkpoint import is_trained, keep_the_last
from axenat.train.devices import use_threads
from axenat.train.history import validations
from axenat.train.launch import become_launcher
from axenat.train.loop import train
from axenat.train.ranks import joined
from axenat.train.setting import SAVE_SECONDS, Setting, fingerprint, seeded_model
from axenat.train.slurm_job import back_into_the_queue, the_only_one
from axenat.train.start import start_from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="config.yaml of the run")
    parser.add_argument("--train", type=Path, required=True, help="ids of the train split")
    parser.add_argument("--valid", type=Path, required=True, help="ids of the valid split")
    parser.add_argument("--subwords", type=Path, required=True, help="folder with the vocabularies")
    parser.add_argument("--start-from", type=Path, nargs="*", default=[], metavar="MODEL",
                        help="model.safetensors of the run that start_from names; none: random weights")  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads of each process (default: all)")
    parser.add_argument("--ranks", type=int, default=1,
                        help="processes to start, one for each GPU: with srun in a job of Slurm, else with torchrun on"
                        " the GPUs that are here (default: %(default)s)")  # fmt: skip
    parser.add_argument("--nodes", type=int, default=1, help="machines of the Slurm job (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="processes that prepare batches (default: 2 for a GPU, else none)")
    parser.add_argument("--save-minutes", type=float, default=SAVE_SECONDS / 60,
                        help="save the state at least this often (default: %(default)g)")  # fmt: skip


def main(args: argparse.Namespace) -> None:
    become_launcher(args.ranks, args.nodes, args.threads)
    use_threads(args.threads)
    for flag, value in (("--save-minutes", args.save_minutes), ("--workers", args.workers or 0)):
        if not 0 <= value < math.inf:
            raise UserError(f"{flag} {value}: must be a number from 0")
    folder = read_run_config(args.config)
    source_vocab, target_vocab = (Vocab.load(args.subwords / f"vocab.{side}") for side in ("source", "target"))
    train_ids, valid_ids = ParallelCorpus(args.train), ParallelCorpus(args.valid)
    for corpus in (train_ids, valid_ids):
        corpus.check_vocab(source_vocab, target_vocab)
    objective = objective_of(folder.run.objective)
    model = seeded_model(folder.run.seed, lambda: new_model(folder, objective, source_vocab, target_vocab))
    for path in _start(folder.run.start_from, args.start_from):
        start_from(model, path, args.subwords)
    with joined(args.device) as (ranks, device):
        # Ids may be gigabytes: one rank reads them once, for their checksums and for the fingerprint.
        sums = ranks.from_the_first(lambda: [train_ids.verify(), valid_ids.verify(), *map(sha256_of, args.start_from)])
        workers = (2 if device.type == "cuda" else 0) if args.workers is None else args.workers
        setting = Setting(
            folder.run, model.to(device), objective, train_ids, valid_ids, args.out / "checkpoints", device,
            ranks, workers, 60 * args.save_minutes,
        )  # fmt: skip
        mark = fingerprint(read_yaml(args.config), *sums)
        if is_trained(args.out, mark):
            return
        if not ranks.writes:
            logging.disable(logging.WARNING)  # the first of them tells for all
            train(setting, mark)
            return
        with the_only_one(args.out):
            if is_trained(args.out, mark):  # by an earlier copy of this job, while we waited
                return
            made_by = {**provenance(device, sums[0]), "fingerprint": mark}
            write_json(args.out / "provenance.json", made_by)  # first: MLflow is told of it
            with following(args.out), back_into_the_queue(args.out):
                state = train(setting, mark)
            write_json(args.out / "provenance.json", made_by)  # a copy of this job that failed may have removed it
            write_text(args.out / "history.jsonl", setting.history.read_text(encoding="utf-8"))
            write_lines(args.out / "valid.csv", validations(setting.folder))
            write_json(args.out / "best.json", {"run": folder.name, "fingerprint": mark, "checkpoints": state.best})
            keep_the_last(setting.folder, state)


def _start(named: str | None, paths: list[Path]) -> list[Path]:
    """One path, if the configuration names a run to start from; a run that tells otherwise than it was is of no use."""
    if len(paths) != (named is not None):
        wanted = f"one model, that of {named}, as start_from says" if named else "nothing, for start_from is not set"
        raise UserError(f"--start-from must give {wanted}; got {len(paths)}")
    return paths
