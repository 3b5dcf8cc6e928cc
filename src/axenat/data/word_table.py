"""What becomes of each word, worked out once: most words of a text are among few."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MOST_WORDS = 500_000  # about 100 MB


class OddWordError(Exception):
    """Not a word of tokenised text, so that its line needs a second look."""


class WordTable(dict[str, T]):
    """Asked for a word, it answers at once or asks `answer`; the words of a line are looked up by `map`.

    No word at all (two spaces together, or one at an end) and words that hold the end of a line are odd.
    """

    def __init__(self, answer: Callable[[str], T]) -> None:
        super().__init__()
        self._answer = answer

    def __missing__(self, word: str) -> T:
        if is_odd(word):
            raise OddWordError(word)
        if len(self) >= MOST_WORDS:
            self.clear()  # the frequent ones are soon back
        self[word] = found = self._answer(word)
        return found


def is_odd(word: str) -> bool:
    return word.splitlines() != [word]
