"""`axenat distil`: one shard of the train split, translated by the teacher.

A job that was killed goes on where it was: finished chunks lie in a folder beside the output until all are there.
"""

import argparse
from pathlib import Path
from typing import Any

from axenat.data.chunks import chunk_bounds, shard_bounds
from axenat.data.distilled import ShardRecord
from axenat.data.lines import lines_and_sha256
from axenat.decode.shard import LOCK, Parts, translate_chunks
from axenat.decode.translator import Translator
from axenat.files import UserError, alone, refuse_twice, sha256_of, write_json
from axenat.layout import SUBWORD_FILES
from axenat.records import as_plain, build
from axenat.systems.registry import TEACHERS
from axenat.train.devices import device_of, use_threads


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True, help="folder of the teacher's run")
    parser.add_argument("--source", type=Path, required=True, help="tokenised source text of train")
    parser.add_argument("--shard", required=True, help="which part, counted from 1: 2-of-8")
    parser.add_argument("--out", type=Path, required=True, help="tokenised translations of this shard")
    parser.add_argument("--record", type=Path, required=True, help="how they were made, as JSON")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:0 (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")


def main(args: argparse.Namespace) -> None:
    use_threads(args.threads)
    refuse_twice(args.out, args.record)
    lines, source_sha256 = lines_and_sha256(args.source)
    bounds = shard_bounds(chunk_bounds(lines), args.shard)
    translator = Translator(args.model, device_of(args.device))
    if not translator.system.teaches:
        kinds, name = " or ".join(TEACHERS), translator.system.name
        raise UserError(f"--model {args.model}: a teacher is a {kinds} run, and this one is {name}")
    made_with = {
        "teacher_sha256": sha256_of(args.model / "model.safetensors"),
        "source_sha256": source_sha256,
        "engine": translator.engine.name,
        "precision": translator.engine.precision,
        "beam_size": translator.decode.beam_size,
        "length_penalty": translator.value,
    }
    folder = args.out.with_name(f"{args.out.name}.parts")
    with alone(folder / LOCK, patience=0.0):
        parts = Parts(folder, {**made_with, **_also_matters(translator, args.model)})
        translate_chunks(translator, args.source, bounds, parts)
        counted = parts.join(bounds, args.out)
        place = {"shard": args.shard, "first_line": bounds[0] + 1, "lines": bounds[-1] - bounds[0]}
        record = {**place, **made_with, "text_sha256": sha256_of(args.out), **counted}
        write_json(args.record, as_plain(build(ShardRecord, record, str(args.record))))
        parts.remove()


def _also_matters(translator: Translator, model: Path) -> dict[str, Any]:
    """What a record does not tell, and yet can change a translation."""
    files = {name: sha256_of(model / name) for name in ("config.yaml", *SUBWORD_FILES)}
    return {"device": translator.device.type, "tokens_per_batch": translator.decode.tokens_per_batch, **files}
