"""`axenat gather`: the teacher's shards in order, as the target side of train.

A sentence that the teacher left empty keeps its real target: dropping it would change the data, and an
empty target teaches nothing.
"""

import argparse
from pathlib import Path

from axenat.files import UserError, read_lines, sha256_of, write_json, write_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shards", type=Path, nargs="+", required=True, help="translations, in order")
    parser.add_argument("--target", type=Path, required=True, help="the real target side of train")
    parser.add_argument("--teacher", type=Path, required=True, help="folder of the teacher's run")
    parser.add_argument("--out", type=Path, required=True, help="distilled target side of train")
    parser.add_argument("--manifest", type=Path, required=True, help="what was done, as JSON")


def main(args: argparse.Namespace) -> None:
    distilled = [line for path in args.shards for line in read_lines(path)]
    real = read_lines(args.target)
    if len(distilled) != len(real):
        raise UserError(f"the shards hold {len(distilled)} lines but {args.target} has {len(real)}")
    empty = sum(not line for line in distilled)
    manifest = {
        "teacher_sha256": sha256_of(args.teacher / "model.safetensors"),
        "tuned_sha256": sha256_of(args.teacher / "tuned.json"),
        "shards": len(args.shards),
        "sentences": len(real),
        "empty_replaced_by_real": empty,
        "same_as_real": sum(line == target for line, target in zip(distilled, real, strict=True)),
    }
    write_lines(args.out, (line or target for line, target in zip(distilled, real, strict=True)))
    write_json(args.manifest, manifest)
