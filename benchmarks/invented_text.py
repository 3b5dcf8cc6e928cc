"""Parallel text of any size whose number of different words grows as in news: known lines with invented words."""

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from axenat.data.demo import demo_corpus
from axenat.files import iter_lines

Pair = tuple[str, str]

SYLLABLES = [a + b + c for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "ei", "ö") for c in ("", "n", "r")]
INVENTED = 0.25  # of the words of a line
GROWTH = 0.8  # ten times more text has about ten to this power times more different words
MOST_INVENTED = 50_000_000


def lines_of_grammar(pairs: int) -> list[Pair]:
    """Two sentences a line, so that lines are as long as those of news."""
    corpus = demo_corpus(seed=1, train=2 * pairs, valid=1, test=1, references=1)
    sources, targets = corpus["train.en"], corpus["train.de"]
    return [(f"{sources[i]} {sources[i + 1]}", f"{targets[i]} {targets[i + 1]}") for i in range(0, 2 * pairs, 2)]


def lines_of_files(source: Path, target: Path) -> list[Pair]:
    return list(zip(iter_lines(source), iter_lines(target), strict=True))


def invented_word(number: int) -> str:
    """Of a different number a different word; small numbers have short ones."""
    syllables = [SYLLABLES[number % len(SYLLABLES)]]
    while number := number // len(SYLLABLES):
        syllables.append(SYLLABLES[number % len(SYLLABLES)])
    return "".join(syllables)


def invented_pairs(known: list[Pair], seed: int = 1) -> Iterator[Pair]:
    """Known pairs again and again, some words of each replaced by others that are frequent or rare as words are."""
    rng = random.Random(seed)
    for source, target in itertools.cycle(known):
        yield _with_invented(source, rng), _with_invented(target, rng, str.capitalize)


def _with_invented(line: str, rng: random.Random, spell: Callable[[str], str] = str) -> str:
    words = line.split(" ")
    for place in range(len(words)):
        if rng.random() < INVENTED:
            number = int(rng.paretovariate(1 / GROWTH - 1))  # of the rank of a word in a text, as Zipf found it
            words[place] = spell(invented_word(number % MOST_INVENTED))
    return " ".join(words)
