"""Where records are kept, and how those of today are compared with them."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.golden.facts import facts_of_entries, lacking

RECORDS = Path(__file__).with_name("records")
SUMS, OTHERS = "sums.txt", "others.txt"
# Recorded as text, to be read; of other studies checksums are kept, of what no new run changes.
IN_FULL = ("tiny", "demo")
OF_THEIR_OWN = (*IN_FULL, "house", "finished")
HEAD = "=== "
CHECKSUM = re.compile(r"sha256 ([0-9a-f]{64})\n")
# Records whose lines are names with values.
ENTRIES = ("job", "target", "outputs")
TOOL = "python -m tests.golden"


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    # changed, gone, grown or new; the last two lose nothing that is recorded.
    kind: str
    sentence: str


def kept(records: Mapping[str, str]) -> dict[str, str]:
    """As they are stored: the text, or its checksum."""
    return {name: checksum(text) if _is_summed(name) else text for name, text in records.items()}


def _is_summed(name: str) -> bool:
    of, item = name.split(": ", 1)
    return item.startswith(("jobs of ", "dvc pattern ", "dvc entries ")) or (
        of not in OF_THEIR_OWN and item.startswith("file ")
    )


def checksum(text: str) -> str:
    return f"sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"


def read_records(folder: Path = RECORDS) -> dict[str, str]:
    records: dict[str, str] = {}
    for path in sorted(folder.glob("*.txt")):
        text = path.read_bytes().decode()
        if path.name == SUMS:
            pairs = (line.split("  ", 1) for line in text.splitlines())
            records |= {name: f"sha256 {digest}\n" for digest, name in pairs}
        else:
            records |= parsed(text)
    return records


def parsed(text: str) -> dict[str, str]:
    """Texts below each other, each under its name."""
    parts = re.split(f"^{HEAD}", text, flags=re.MULTILINE)[1:]
    return {name: content for name, _, content in (part.partition("\n") for part in parts)}


def write_records(records: Mapping[str, str], folder: Path = RECORDS) -> None:
    """All of them; a file that has none left is removed."""
    files: dict[str, list[str]] = {path.name: [] for path in folder.glob("*.txt")}
    for name, text in sorted(records.items()):
        summed = CHECKSUM.fullmatch(text)
        line = f"{summed[1]}  {name}\n" if summed else f"{HEAD}{name}\n{text}"
        files.setdefault(_file_of(name, text), []).append(line)
    for name, lines in files.items():
        if lines:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes("".join(lines).encode())
        else:
            (folder / name).unlink()


def _file_of(name: str, text: str) -> str:
    if CHECKSUM.fullmatch(text):
        return SUMS
    of = name.partition(": ")[0]
    return f"{of}.txt" if of in OF_THEIR_OWN else OTHERS


def problems(of: str, present: Mapping[str, str], folder: Path = RECORDS) -> list[str]:
    """All that is not as recorded of one study, of the house, or of the finished study."""
    recorded = {name: text for name, text in read_records(folder).items() if name.startswith(f"{of}: ")}
    return [one.sentence for one in differences(recorded, kept(present))]


def differences(recorded: Mapping[str, str], present: Mapping[str, str]) -> list[Difference]:
    """One sentence for each record that is not as it was."""
    found = [_difference(name, text, present.get(name)) for name, text in recorded.items()]
    new = [
        Difference(name, "new", f"{name}: not recorded yet; to record it: {TOOL} --add")
        for name in present.keys() - recorded.keys()
    ]
    return sorted(filter(None, [*found, *new]), key=lambda one: one.name)


def _difference(name: str, recorded: str, present: str | None) -> Difference | None:
    look = f"to see how: {TOOL} --diff '{name}'"
    if present is None:
        return Difference(name, "gone", f"{name}: recorded, and no longer there")
    if present == recorded:
        return None
    if name.partition(": ")[2].startswith("file ") or CHECKSUM.fullmatch(recorded):
        return Difference(name, "changed", f"{name}: differs from its record; {look}")
    before, now = facts_of(name, recorded), facts_of(name, present)
    if lost := lacking(before, now):
        return Difference(name, "changed", f"{name}: lacks {_first(lost)}; {look}")
    if more := lacking(now, before):
        return Difference(name, "grown", f"{name}: also has {_first(more)}; to record it: {TOOL} --add")
    return None


def facts_of(name: str, text: str) -> list[str]:
    if name.partition(": ")[2].split(" ")[0] in ENTRIES:
        return facts_of_entries(text)
    return text.splitlines()


def _first(facts: list[str]) -> str:
    more = f" and {len(facts) - 1} more" if len(facts) > 1 else ""
    return f"'{facts[0].strip()}'{more}"
