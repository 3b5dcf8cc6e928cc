"""The vocabulary: which subword has which id, and six special ids that no text can spell."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from axenat.files import UserError, read_lines, write_lines

PAD, BOS, EOS, UNK, MASK, BLANK = range(6)
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>", "<mask>", "<blank>")


@dataclass(frozen=True)
class Vocab:
    """Tokens in the order of their ids: the specials first, then the subwords, each once."""

    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.tokens[: len(SPECIALS)] != SPECIALS:
            raise UserError(f"a vocabulary must start with {' '.join(SPECIALS)}, one a line, in this order")
        if len(set(self.tokens)) != len(self.tokens):
            twice = Counter(self.tokens).most_common(1)[0][0]
            raise UserError(f"a vocabulary must hold each token once, but {twice!r} is there again")
        if "" in self.tokens:
            raise UserError(f"a vocabulary must not hold an empty token, but line {self.tokens.index('') + 1} is")

    @classmethod
    def build(cls, lines_of_subwords: Iterable[str], max_size: int | None = None, min_count: int = 1) -> "Vocab":
        counts: Counter[str] = Counter()
        for line in lines_of_subwords:
            counts.update(split_tokens(line))
        return cls.from_counts(counts, max_size, min_count)

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], max_size: int | None = None, min_count: int = 1) -> "Vocab":
        """The most frequent subwords first; `max_size` counts the specials too."""
        if max_size is not None and max_size <= len(SPECIALS):
            raise UserError(f"a vocabulary of at most {max_size} tokens has no room beside {len(SPECIALS)} specials")
        frequent = [token for token in counts if counts[token] >= min_count and token not in SPECIALS]
        frequent.sort(key=lambda token: (-counts[token], token))
        return cls((SPECIALS + tuple(frequent))[:max_size])

    @classmethod
    def load(cls, path: str | Path) -> "Vocab":
        tokens = tuple(read_lines(path))
        try:
            return cls(tokens)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        write_lines(path, self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def sha256(self) -> str:
        """Equal to the sum of the saved file."""
        return hashlib.sha256("".join(f"{token}\n" for token in self.tokens).encode()).hexdigest()

    @cached_property
    def _id_of(self) -> dict[str, int]:
        # Without the specials: text that spells <mask> must not become one.
        first = len(SPECIALS)
        return {token: number for number, token in enumerate(self.tokens[first:], start=first)}

    def encode(self, subwords: str | Sequence[str]) -> list[int]:
        """Ids of a line of subwords, without EOS; what the vocabulary does not hold is UNK."""
        id_of = self._id_of
        tokens = split_tokens(subwords) if isinstance(subwords, str) else subwords
        return [id_of.get(token, UNK) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of these ids, one for one, specials included."""
        return [self.tokens[number] for number in ids]


def split_tokens(line: str) -> list[str]:
    """Only the space separates tokens, as in subword-nmt."""
    return [token for token in line.split(" ") if token]
