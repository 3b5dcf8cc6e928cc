"""Translations as lines of a file: the text alone, or columns separated by tabs, which no text holds."""

from collections.abc import Iterator

from axenat.decode.translator import Translation, Translator
from axenat.decode.word_alignment import word_alignments


def lines_of(
    translator: Translator,
    words: list[str],  # tokenised sources
    found: list[list[Translation]],
    *,
    first: int | None,  # the number of the first line, if lines are numbered
    scores: bool,
    alignments: bool,
) -> Iterator[str]:
    rows = [(number, one) for number, best in enumerate(found) for one in best]
    columns = [[one.text for _, one in rows]]
    if first is not None:
        columns.insert(0, [str(first + number) for number, _ in rows])
    if scores:
        columns.append([f"{one.score:.4f}" for _, one in rows])
    if alignments:
        pairs = word_alignments(translator, [words[number] for number, _ in rows], [one for _, one in rows])
        columns.append([" ".join(f"{source}-{target}" for source, target in line) for line in pairs])
    for row in zip(*columns, strict=True):
        yield "\t".join(row) + "\n"
