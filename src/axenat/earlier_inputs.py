"""Results of versions whose jobs tokenised valid and test themselves: Snakemake takes them as made from the same text.

Snakemake runs a job again if its set of inputs has changed. `tune`, `translate`, `score` and `analyse` read plain text
before `clean` wrote the words of valid and test for them. From these words they make the same bytes. Without this
module a new version would tune each teacher again, and train again whatever it has taught.
"""

import os
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress

from axenat import layout
from axenat.files import sha256_of
from axenat.notes import note_of, write_note
from axenat.study import Study

TRANSLATED = ("txt", "tok.txt", "bpe.txt", "engine.json")
SCORED = ("score.json", "metrics.json")


def accept_earlier_inputs(study: Study) -> None:
    """Correct what Snakemake has noted of the inputs of such results. Nothing happens the second time."""
    for path, words, unread in _changed(study):
        with suppress(OSError):  # a note that cannot be written leaves the job to Snakemake
            _accept(path, words, unread)


def _changed(study: Study) -> Iterator[tuple[str, Mapping[str, str], Set[str]]]:
    """Outputs, the tokenised files that are read now with their plain text, and plain text that is read no longer."""
    for run, config in study.runs.items():
        for split in ("valid", "test"):
            source, target = (
                {
                    layout.words(study, config.corpus, "raw", split, side): layout.raw_text(
                        study, config.corpus, split, side
                    )
                }
                for side in ("source", "target")
            )
            plain = {*source.values()}
            if split == "valid":
                yield f"results/runs/{run}/tuned.json", source | target, plain
            for decoding in (f"results/runs/{run}/{split}/{name}" for name in config.decode_names):
                yield from ((f"{decoding}.{ending}", source, plain) for ending in TRANSLATED)
                yield f"{decoding}.analysis.json", source | target, set()
                if study.corpora[config.corpus].references == 1:
                    yield from ((f"{decoding}.{ending}", target, set()) for ending in SCORED)


def _accept(path: str, words: Mapping[str, str], unread: Set[str]) -> None:
    """If the words were made from the very text that the job has read."""
    note = note_of(path)
    inputs, sums = note.get("input"), note.get("input_checksums")
    if not isinstance(inputs, list) or not isinstance(sums, dict) or words.keys() & {*inputs} or unread - {*inputs}:
        return
    for tokenised, plain in words.items():
        made_from = note_of(tokenised).get("input_checksums") or {}
        if plain not in sums or made_from.get(plain) != sums[plain] or not os.path.exists(tokenised):
            return
    kept = {name: value for name, value in sums.items() if name not in unread}
    read = {name: f"sha256:{sha256_of(name)}" for name in words}
    write_note(path, {**note, "input": sorted({*inputs, *words} - unread), "input_checksums": kept | read})
