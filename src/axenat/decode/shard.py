"""One shard translated chunk by chunk, so that a killed job goes on with the first chunk that it did not finish."""

import json
import shutil
from collections.abc import Mapping
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any

from axenat.decode.translator import Translator
from axenat.files import UserError, atomic, iter_lines, read_record, write_json, write_text
from axenat.progress import Advance, long_work

LOCK = ".working"
COUNTED = ("cut_sources", "runaway", "empty")


class Parts:
    """Finished chunks in a folder; those of another fingerprint are thrown away."""

    def __init__(self, folder: Path, fingerprint: Mapping[str, Any]) -> None:
        self.folder = folder
        mark, written = json.dumps(fingerprint, indent=2) + "\n", folder / "fingerprint.json"
        if not written.exists() or written.read_text(encoding="utf-8") != mark:
            for path in folder.iterdir():
                if path.name != LOCK:
                    path.unlink()
            write_text(written, mark)

    def path(self, start: int, end: int) -> Path:
        return self.folder / f"{start + 1}-{end}.json"

    def has(self, start: int, end: int) -> bool:
        """Whole, that is: what was damaged is made again."""
        try:
            return len(read_record(self.path(start, end), "lines", *COUNTED)["lines"]) == end - start
        except UserError:
            return False

    def join(self, bounds: list[int], out: Path) -> dict[str, Any]:
        """Write the text of all chunks; what was counted in them."""
        counted: dict[str, Any] = dict(zip(COUNTED, (0, [], []), strict=True))
        with atomic(out) as stream:
            for start, end in pairwise(bounds):
                chunk = read_record(self.path(start, end), "lines", *COUNTED)
                stream.writelines(f"{line}\n" for line in chunk["lines"])
                for key in counted:
                    counted[key] += chunk[key]
        return counted

    def remove(self) -> None:
        shutil.rmtree(self.folder)


def translate_chunks(translator: Translator, source: Path, bounds: list[int], parts: Parts) -> None:
    """Each chunk in a call of its own, whatever else the shard holds; those in `parts` are passed over."""
    missing = [(start, end) for start, end in pairwise(bounds) if not parts.has(start, end)]
    total = bounds[-1] - bounds[0]
    done = total - sum(end - start for start, end in missing)
    lines, position = iter_lines(source), 0
    with long_work(total, start=done, unit="line", tell_end=False) as advance:
        for start, end in missing:
            block = list(islice(lines, start - position, end - position))
            write_json(parts.path(start, end), _translate(translator, block, start + 1, advance, done))
            position, done = end, done + len(block)
            advance(done)


def _translate(translator: Translator, lines: list[str], first: int, advance: Advance, done: int) -> dict[str, Any]:
    now_done = count(done + 1)
    found = translator.best_translations(lines, 1, advance=lambda: advance(next(now_done)))
    outputs = [(number, best[0]) for number, best in enumerate(found, start=first)]
    return {
        "cut_sources": translator.num_cut,
        "runaway": [number for number, output in outputs if not output.ended],
        "empty": [number for number, output in outputs if not output.words],
        "lines": [output.words for _, output in outputs],
    }
