"""The one command: `axenat <stage>`. A stage is imported only when it is called, so help stays instant."""

import argparse
import importlib
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from axenat.files import DISK_FULL, UserError
from axenat.site import NO_MODULES, site_file

# In the order of the pipeline; each is a module of axenat.stages.
STAGES = {
    "configure": "write the resolved keys of one stage to a file",
    "fetch": "archives of a published corpus, verified",
    "download": "raw text of a corpus",
    "clean": "tokenise and filter",
    "clean_references": "tokenise all references of a split that has several",
    "learn_subwords": "byte pair encoding and vocabularies",
    "encode": "text to ids",
    "train": "train one run",
    "average": "average its best checkpoints",
    "tune": "choose length multiplier or penalty on valid",
    "distil": "translate a shard of train with the teacher",
    "gather": "put the teacher's shards together",
    "translate": "plain text in, translations out",
    "align": "the AXE alignment of one pair, as text and as a picture",
    "score": "BLEU with signature and interval, repetitions, valid translations",
    "compare": "two outputs with the same references: scores, significance, lengths, examples",
    "analyse": "BLEU by length, position confidence, skip rates, alignments",
    "choose": "choose one run of a grid on valid",
    "speed": "time of trainings, and of decoding measured side by side",
    "summarise": "all scores and significance tests in one file",
    "tables": "the tables of the paper for this study",
    "figures": "the figures of the paper for this study",
    "report": "one HTML page of all of it",
    "report_so_far": "tables, figures and page of an unfinished study",
    "publish": "send runs and scores to MLflow",
    "describe": "write dvc.yaml, the study as stages of DVC",
    "record": "write the versions of all results to dvc.lock",
    "adopt": "pull results that are recorded in dvc.lock, and have Snakemake take them as made",
    "verify": "compare results with dvc.lock, file by file",
    "register": "tuned models in MLflow's registry, ready to serve",
    "check": "before a long run: is all there that it needs, and how long will it take",
    "usage": "after a run: what jobs asked for, what they used, and what to ask for next time",
}


class _Parser(argparse.ArgumentParser):
    """Wrong usage in one sentence, exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv: list[str] | None = None) -> int:
    _write_utf8()
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        if sys.stdout is not None:  # it was closed before we began
            sys.stdout.flush()  # here, where a closed pipe can still be answered
        return code
    except BrokenPipeError:  # the reader has seen enough, as in `axenat --help | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _write_utf8() -> None:
    """As in all files here: a locale that knows no umlauts must not stop a translation."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _run(argv: list[str]) -> int:
    stage = argv[0] if argv else "--help"
    if stage in ("-h", "--help"):
        print(_help())
        return 0
    if stage == "--version":
        from axenat import __version__

        print(f"axenat {__version__}")
        return 0
    if stage not in STAGES:
        print(f"axenat: unknown stage {stage!r}; allowed are {', '.join(STAGES)}", file=sys.stderr)
        return 2
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    _tell_job()
    if lacking := os.environ.get(NO_MODULES):
        print(f"axenat {stage}: {lacking} on this node; correct modules in {site_file()}", file=sys.stderr)
        return 2
    module = importlib.import_module(f"axenat.stages.{stage}")
    parser = _Parser(prog=f"axenat {stage}", description=module.__doc__)
    module.add_arguments(parser)
    try:
        with _stopping_tidily():
            module.main(parser.parse_args(argv[1:]))
    except UserError as error:
        print(f"axenat {stage}: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        advice = "; make room and run the same command again" if error.errno in DISK_FULL else ""
        where = error.filename or "input/output"
        print(f"axenat {stage}: {where}: {error.strerror or error}{advice}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _tell_job() -> None:
    """Of Slurm. Snakemake shows the logs of a failed job up to the first that is empty, and Slurm's own comes last: it
    has the reason why a stage was killed that had said nothing yet."""
    of_many = {"AXENAT_LAUNCHED", "RANK"} & os.environ.keys()  # who started them has told
    words = [os.environ.get(f"SLURM_ARRAY_{part}_ID") for part in ("JOB", "TASK")]  # as its log is called
    job = "_".join(filter(None, words)) or os.environ.get("SLURM_JOB_ID")
    if job and not of_many and sys.stderr and not sys.stderr.isatty():
        logging.info("job %s of Slurm, on %s", job, os.environ.get("SLURMD_NODENAME", "this node"))


@contextmanager
def _stopping_tidily() -> Iterator[None]:
    """Asked to stop (SIGTERM), a stage takes away what it had half written, as it does when it fails."""
    if threading.current_thread() is not threading.main_thread():  # only there signals can be taken
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _help() -> str:
    width = max(map(len, STAGES))
    rows = "\n".join(f"  {name:<{width}}  {text}" for name, text in STAGES.items())
    return (
        "usage: axenat <stage> [options]\n\n"
        "Non-autoregressive translation trained with Aligned Cross Entropy, stage by stage.\n"
        "`snakemake --cores 2 all` runs them all; a stage's own options: axenat <stage> --help\n\n"
        f"stages:\n{rows}"
    )


if __name__ == "__main__":
    sys.exit(main())
