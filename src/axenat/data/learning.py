"""Truecasers, codes and vocabularies of both sides, learnt from tokenised text that is read chunk by chunk."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from axenat.corpus_config import SubwordsConfig
from axenat.data.corpus import SIDES
from axenat.data.lines import Pair, read_pairs
from axenat.data.subwords import Subwords, count_pieces, count_words, learn
from axenat.data.text_section import TextSection, write_text_section
from axenat.data.truecase import Truecaser, count_cases
from axenat.data.vocab import Vocab
from axenat.data.workers import map_chunks
from axenat.files import write_lines

Counts = tuple[Counter[str], Counter[str]]  # of source and target
Truecasers = tuple[Truecaser, Truecaser]

PAIRS = 20_000  # of a chunk: the more, the fewer words are counted there and added up here


@dataclass(frozen=True)
class Text:
    """Tokenised text of both sides, read anew whenever something is counted in it."""

    source: Path
    target: Path
    processes: int

    def count(self, function: Callable[[Pair], Counts]) -> Counts:
        totals: Counts = (Counter(), Counter())
        for counts in map_chunks(function, read_pairs(self.source, self.target, PAIRS), self.processes):
            for total, some in zip(totals, counts, strict=True):
                total.update(some)
        return totals


def learn_truecasers(text: Text) -> Truecasers:
    source, target = text.count(_cases_of_chunk)
    return Truecaser.from_counts(source), Truecaser.from_counts(target)


def _cases_of_chunk(chunk: Pair) -> Counts:
    return count_cases(chunk[0].lines()), count_cases(chunk[1].lines())


@dataclass(frozen=True)
class WordsOfChunk:
    """Counts words as they are once they are truecased, if they shall be."""

    truecasers: Truecasers | None

    def __call__(self, chunk: Pair) -> Counts:
        sides = [block.lines() for block in chunk]
        if self.truecasers is not None:
            sides = [list(map(one.apply, lines)) for one, lines in zip(self.truecasers, sides, strict=True)]
        return count_words(sides[0]), count_words(sides[1])


@dataclass(frozen=True)
class LearntSide:
    """What splits the words of one side, and numbers the pieces."""

    codes: list[str]
    pieces: Counter[str]  # that may stay whole; none: all may
    vocab: Vocab

    def save(self, folder: Path, side: str) -> None:
        write_lines(folder / f"codes.{side}", self.codes)
        ordered = sorted(self.pieces.items(), key=lambda item: (-item[1], item[0]))
        write_lines(folder / f"pieces.{side}", (f"{piece} {count}" for piece, count in ordered))
        self.vocab.save(folder / f"vocab.{side}")


def learn_sides(words: Counts, config: SubwordsConfig) -> tuple[LearntSide, LearntSide]:
    """From counted words alone, each of them split once."""
    if config.joint:
        codes = [learn(words[0] + words[1], config.merges)] * 2
    else:
        codes = [learn(side, config.merges) for side in words]
    pieces = [count_pieces(side, Subwords(code)) for side, code in zip(words, codes, strict=True)]
    allowed: list[Counter[str]] = [Counter(), Counter()]
    if config.vocabulary_threshold:
        allowed = [_frequent(counts, config.vocabulary_threshold) for counts in pieces]
        pieces = [count_pieces(words[i], Subwords(codes[i], allowed[i])) for i in (0, 1)]
    if config.joint:
        pieces = [pieces[0] + pieces[1]] * 2
    vocabs = [Vocab.from_counts(counts, config.max_vocabulary or None, config.min_count) for counts in pieces]
    source, target = (LearntSide(*learnt) for learnt in zip(codes, allowed, vocabs, strict=True))
    return source, target


def save_all(folder: Path, section: TextSection, sides: Sequence[LearntSide], truecasers: Truecasers | None) -> None:
    """All files that turn the text of a corpus into ids and back."""
    nothing = Truecaser.from_counts(Counter())
    for side, learnt, truecaser in zip(SIDES, sides, truecasers or (nothing, nothing), strict=True):
        learnt.save(folder, side)
        truecaser.save(folder / f"truecase.{side}")
    write_text_section(folder, section)


def _frequent(pieces: Counter[str], threshold: int) -> Counter[str]:
    return Counter({piece: count for piece, count in pieces.items() if count >= threshold})
