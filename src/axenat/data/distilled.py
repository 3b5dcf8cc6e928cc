"""What shards say of themselves, whether they belong together, and which of the teacher's outputs are kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axenat.data.lines import lines_and_sha256
from axenat.files import UserError, iter_lines, read_json
from axenat.records import build

RULE = (
    "An output that is empty, did not end by itself (a runaway), or does not pass the corpus's clean filter beside its "
    "source keeps the real target."
)
FILTER_KEYS = ("min_length", "max_length", "max_ratio", "drop_wrong_script")  # equal pairs are the teacher's right
AGAIN = "delete both files of the shard and distil it again"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardRecord:
    """Of one shard; nothing of when and where, so that the same work has the same bytes."""

    shard: str
    teacher_sha256: str
    source_sha256: str
    engine: str
    precision: str
    beam_size: int
    length_penalty: float
    first_line: int  # of the corpus, from 1, as all numbers of lines here
    lines: int
    text_sha256: str
    cut_sources: int
    runaway: tuple[int, ...]
    empty: tuple[int, ...]


def read_shard_record(path: Path) -> ShardRecord:
    return build(ShardRecord, read_json(path), str(path))


def check_records(records: Sequence[ShardRecord], made_with: Mapping[str, Any]) -> None:
    """Refuse shards that are not the whole, in order, all made with the same."""
    next_line = 1
    for number, record in enumerate(records, start=1):
        expected = f"{number}-of-{len(records)}"
        if record.shard != expected:
            raise UserError(f"shard {record.shard} stands where {expected} belongs; give all shards, in order")
        for key, value in made_with.items():
            if getattr(record, key) != value:
                other = getattr(record, key)
                raise UserError(f"shard {record.shard} was made with {key} {other}, expected {value}; {AGAIN}")
        if record.first_line != next_line:
            raise UserError(f"shard {record.shard} begins with line {record.first_line}, expected {next_line}; {AGAIN}")
        next_line += record.lines


def check_text(path: Path, record: ShardRecord) -> None:
    """A record that came later or earlier than its text tells of another one."""
    lines, sha256 = lines_and_sha256(path)
    if lines != record.lines:
        raise UserError(f"{path} has {lines} lines, but shard {record.shard} should have {record.lines}; {AGAIN}")
    if sha256 != record.text_sha256:
        raise UserError(f"{path} is not the text that shard {record.shard} was recorded with; {AGAIN}")


def outputs_of(paths: Sequence[Path], records: Sequence[ShardRecord]) -> Iterator[tuple[str, bool]]:
    """The teacher's lines in order, each with whether it is a runaway."""
    for path, record in zip(paths, records, strict=True):
        runaway = set(record.runaway)
        for number, line in enumerate(iter_lines(path), start=record.first_line):
            yield line, number in runaway


def why_real(source: str, output: str, runaway: bool, unfit: Callable[[str, str], str | None]) -> str | None:
    """Why this sentence keeps its real target, or None if it takes the teacher's output; `unfit` is clean's reason."""
    reason = unfit(source, output)
    return "runaway" if runaway and reason != "empty" else reason


def evenly_spaced(lines: int, most: int) -> set[int]:
    """Numbers of lines from 0, all of them if they are few."""
    size = min(lines, most)
    return {lines * i // size for i in range(size)}
