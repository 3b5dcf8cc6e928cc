"""A record as a list of facts, so that two versions of it can be compared.

A record may grow: its facts must all be found again, in their order, among those of today. Entries are names with
values. Paths of one folder are written as one, `data/demo/{test.de,test.en}`, and read as single paths again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

LONGEST_LINE = 110
PLAIN_NAME = re.compile(r"[\w.@+-]+")
IN_BRACES = re.compile(r"(.*/)\{(.+,.+)\}")


def entry(name: str, values: Iterable[str]) -> str:
    """A name with its values: in one line, or in one line each if they are long or hold spaces."""
    words = [value.replace("\n", r"\n") for value in by_folder(values)]
    line = " ".join([name, *words])
    fits = len(line) <= LONGEST_LINE and all(word and not re.search(r"\s", word) for word in words)
    return line if fits else "\n".join([name, *(f"  {word}" for word in words)])


def by_folder(paths: Iterable[str]) -> list[str]:
    """Neighbours in one folder as one word."""
    groups: list[tuple[str, list[str]]] = []
    for path in paths:
        folder, slash, name = path.rpartition("/")
        if not slash or not PLAIN_NAME.fullmatch(name):
            groups.append(("", [path]))
        elif groups and groups[-1][0] == folder + slash:
            groups[-1][1].append(name)
        else:
            groups.append((folder + slash, [name]))
    return [folder + (f"{{{','.join(names)}}}" if len(names) > 1 else names[0]) for folder, names in groups]


def facts_of_entries(text: str) -> list[str]:
    """Every name alone, and with each of its values."""
    found: list[str] = []
    name = ""
    for line in text.splitlines():
        words = [line[2:]] if line.startswith("  ") else line.split(" ")
        if not line.startswith("  "):
            name, *words = words
            found.append(name)
        found += [f"{name} {path}" for word in words for path in _paths(word)]
    return found


def _paths(word: str) -> Iterator[str]:
    braces = IN_BRACES.fullmatch(word)
    if braces is None:
        yield word
    else:
        yield from (braces[1] + name for name in braces[2].split(","))


def lacking(recorded: Sequence[str], present: Sequence[str]) -> list[str]:
    """Recorded facts that are not found, in their order, among the present ones."""
    at, lost = 0, []
    for fact in recorded:
        try:
            at = present.index(fact, at) + 1
        except ValueError:
            lost.append(fact)
    return lost
