"""`axenat gather`: the teacher's shards in order, as the target side of train.

An output that is empty, a runaway, or unfit by the corpus's clean filter gives way to the real target: dropping the
pair would change the data, and a broken target teaches what is wrong.
"""

import argparse
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from axenat.data.distilled import (
    FILTER_KEYS,
    RULE,
    ShardRecord,
    check_records,
    check_text,
    evenly_spaced,
    outputs_of,
    read_shard_record,
    why_real,
)  # fmt: skip
from axenat.data.lines import lines_and_sha256
from axenat.data.text import REASONS, detokenise, pair_reason
from axenat.evaluate.bleu import bleu
from axenat.files import UserError, atomic, count_lines, iter_lines, read_record, sha256_of, write_json
from axenat.languages import bleu_tokeniser
from axenat.progress import progress
from axenat.stages.clean import read_clean_config

MOST_SAMPLED = 2000  # lines that tell how good the teacher is


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, required=True, help="languages and filters of the corpus (YAML)")
    parser.add_argument("--shards", type=Path, nargs="+", required=True, help="translations, in order")
    parser.add_argument("--records", type=Path, nargs="+", required=True, help="what `distil` wrote beside them")
    parser.add_argument("--source", type=Path, required=True, help="the source side of train")
    parser.add_argument("--target", type=Path, required=True, help="the real target side of train")
    parser.add_argument("--teacher", type=Path, required=True, help="folder of the teacher's run")
    parser.add_argument("--out", type=Path, required=True, help="distilled target side of train")
    parser.add_argument("--manifest", type=Path, required=True, help="what was done, as JSON")


def main(args: argparse.Namespace) -> None:
    section, clean = read_clean_config(args.config)
    unfit = partial(pair_reason, rules=clean, **section.languages)
    records = [read_shard_record(path) for path in args.records]
    made_with = _check(args, records)
    lines, counts = sum(record.lines for record in records), Counter[str]()
    sampled, hypotheses, references = evenly_spaced(lines, MOST_SAMPLED), [], []
    triples = zip(iter_lines(args.source), iter_lines(args.target), outputs_of(args.shards, records), strict=True)
    with atomic(args.out) as stream:
        for number, (source, target, (output, runaway)) in enumerate(progress(triples, total=lines, desc="gather")):
            reason = why_real(source, output, runaway, unfit)
            stream.write(f"{target if reason else output}\n")
            counts[reason or "kept"] += 1
            counts["same_as_real"] += output == target
            if number in sampled:
                hypotheses.append(detokenise(output, section.target_language, section.text))
                references.append(detokenise(target, section.target_language, section.text))
        score = bleu(hypotheses, [references], tokenize=bleu_tokeniser(section.target_language), num_bootstrap=0)
    manifest = {
        **made_with,
        "tuned_sha256": sha256_of(args.teacher / "tuned.json"),
        "shards": len(records),
        "sentences": lines,
        "empty": counts["empty"],
        "runaway": counts["runaway"],
        "filtered": {reason: counts[reason] for reason in REASONS if reason not in ("empty", "duplicate")},
        "replaced_by_real": lines - counts["kept"],
        "cut_sources": sum(record.cut_sources for record in records),
        "same_as_real": counts["same_as_real"],
        "rule": RULE,
        "filter": {key: getattr(clean, key) for key in FILTER_KEYS},
        "sample": {"sentences": len(hypotheses), "bleu": score["bleu"], "signature": score["signature"]},
    }
    write_json(args.manifest, manifest)


def _check(args: argparse.Namespace, records: list[ShardRecord]) -> dict[str, Any]:
    """What all shards were made with; refused unless they are the whole of this source, by this teacher."""
    if len(args.shards) != len(records):
        raise UserError(f"{len(args.shards)} shards but {len(records)} records; give one record for each shard")
    source_lines, source_sha256 = lines_and_sha256(args.source)
    made_with = {
        "teacher_sha256": sha256_of(args.teacher / "model.safetensors"),
        "source_sha256": source_sha256,
        **{key: getattr(records[0], key) for key in ("engine", "precision", "beam_size")},
        "length_penalty": read_record(args.teacher / "tuned.json", "value")["value"],
    }
    check_records(records, made_with)
    for path, record in zip(args.shards, records, strict=True):
        check_text(path, record)
    lines = sum(record.lines for record in records)
    for path, found in ((args.source, source_lines), (args.target, count_lines(args.target))):
        if found != lines:
            raise UserError(f"the shards hold {lines} lines but {path} has {found}")
    return made_with
