"""Raw pairs to tokenised ones that are fit to train on, chunk by chunk on all cores."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from axenat.corpus_config import CleanConfig, TextConfig
from axenat.data.duplicates import Seen
from axenat.data.lines import Pair
from axenat.data.text import pair_digest, pair_reason, tokenise
from axenat.data.workers import map_chunks


@dataclass(slots=True)
class Words:
    """The tokenised pairs of a chunk that are kept, and why others were not."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    digests: list[int] = field(default_factory=list)  # of the pairs, where equal ones are to be dropped
    dropped: Counter[str] = field(default_factory=Counter)
    source_words: int = 0
    target_words: int = 0

    def add(self, source: str, target: str) -> None:
        self.pairs.append((source, target))
        self.source_words += len(source.split())
        self.target_words += len(target.split())

    def drop(self, old: list[bool]) -> None:
        """Without the pairs marked here, which were seen before."""
        for source, target in (pair for pair, is_old in zip(self.pairs, old, strict=True) if is_old):
            self.source_words -= len(source.split())
            self.target_words -= len(target.split())
            self.dropped["duplicate"] += 1
        self.pairs = [pair for pair, is_old in zip(self.pairs, old, strict=True) if not is_old]


@dataclass(frozen=True, slots=True)
class Tokeniser:
    """Works on a chunk alone, in whichever process: everything but duplicates, which concern all chunks."""

    source_language: str
    target_language: str
    text: TextConfig
    rules: CleanConfig | None  # None: everything is kept

    @property
    def drops_duplicates(self) -> bool:
        return self.rules is not None and self.rules.drop_duplicates

    def __call__(self, chunk: Pair) -> Words:
        words = Words()
        for source_line, target_line in zip(chunk[0].lines(), chunk[1].lines(), strict=True):
            source = tokenise(source_line, self.source_language, self.text)
            target = tokenise(target_line, self.target_language, self.text)
            reason = self._reason(source, target)
            if reason is not None:
                words.dropped[reason] += 1
                continue
            words.add(source, target)
            if self.drops_duplicates:
                words.digests.append(pair_digest(source, target))
        return words

    def _reason(self, source: str, target: str) -> str | None:
        if self.rules is None:
            return None
        return pair_reason(source, target, self.rules, self.source_language, self.target_language)


def clean_pairs(chunks: Iterable[Pair], tokeniser: Tokeniser, processes: int) -> Iterator[Words]:
    """In order; of equal pairs, if the rules drop them, only the first is left, in whichever chunks they are."""
    for language in (tokeniser.source_language, tokeniser.target_language):
        tokenise("a", language, tokeniser.text)  # refused here and now, or loaded for all processes
    cleaned = map_chunks(tokeniser, chunks, processes)
    return _without_duplicates(cleaned) if tokeniser.drops_duplicates else cleaned


def _without_duplicates(cleaned: Iterator[Words]) -> Iterator[Words]:
    seen = Seen()
    for words in cleaned:
        new = seen.add(np.array(words.digests, dtype=np.uint64))
        words.drop((~new).tolist())
        yield words
