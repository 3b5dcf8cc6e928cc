"""Tokenised text of valid and test, line by line that of the plain text: made once per corpus, read by many jobs."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from axenat.files import UserError, check_parallel, read_lines, write_lines

# Between the references of one sentence. No word holds it: a tokeniser leaves no white space but single spaces.
BETWEEN = "\t"


def words_of(
    lines: Sequence[str], plain: str | Path, words: str | Path | None, tokenise: Callable[[str], str]
) -> list[str]:
    """The words of these lines of the file `plain`: read from the file `words`, if it is given, or made here."""
    if words is None:
        return [tokenise(line) for line in lines]
    found = read_lines(words)
    check_parallel(plain, len(lines), words, len(found))
    return found


def words_of_references(
    references: Sequence[Sequence[str]],
    plain: Sequence[str | Path],
    words: str | Path | None,
    tokenise: Callable[[str], str],
) -> list[list[str]]:
    """The same of several references of the same sentences, whose words are all in one file."""
    if words is None:
        return [[tokenise(line) for line in lines] for lines in references]
    found = read_reference_words(words, len(references))
    for path, lines, tokenised in zip(plain, references, found, strict=True):
        check_parallel(path, len(lines), words, len(tokenised))
    return found


def write_reference_words(path: str | Path, references: Iterable[Sequence[str]]) -> None:
    """All references of a split in one file, one line for each sentence."""
    write_lines(path, map(BETWEEN.join, zip(*references, strict=True)))


def read_reference_words(path: str | Path, number: int) -> list[list[str]]:
    """The words of each of `number` references; a file of one reference is plain lines of words."""
    sentences = [line.split(BETWEEN) for line in read_lines(path)]
    for line, sentence in enumerate(sentences, start=1):
        if len(sentence) != number:
            raise UserError(f"{path}, line {line}: holds {len(sentence)} references, expected {number}")
    return [list(reference) for reference in zip(*sentences, strict=True)] or [[] for _ in range(number)]
