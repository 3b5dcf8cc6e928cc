"""One side of a corpus from plain text to ids and back, always by the same files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from axenat.corpus_config import TextConfig
from axenat.data.corpus import Ids, id_type
from axenat.data.subwords import Subwords, undo
from axenat.data.text import detokenise, tokenise
from axenat.data.text_section import read_text_section
from axenat.data.truecase import Truecaser
from axenat.data.vocab import EOS, Vocab
from axenat.data.word_table import OddWordError, WordTable


class Side:
    """The source or the target: lines, words, subwords, ids. Words are text that is tokenised but cased as it was."""

    def __init__(self, language: str, text: TextConfig, truecaser: Truecaser, subwords: Subwords, vocab: Vocab) -> None:
        self.language, self.text, self.vocab = language, text, vocab
        self._truecaser, self._subwords = truecaser, subwords
        self.id_type = id_type(len(vocab))
        self._ids = WordTable(self._ids_of_word)

    @classmethod
    def load(cls, folder: str | Path, side: str) -> "Side":
        """From a corpus's folder of subwords, or from a run's folder, which holds the same files."""
        folder = Path(folder)
        section = read_text_section(folder)
        subwords = Subwords.load(folder / f"codes.{side}", folder / f"pieces.{side}")
        vocab = Vocab.load(folder / f"vocab.{side}")
        truecaser = Truecaser.load(folder / f"truecase.{side}")
        return cls(getattr(section, f"{side}_language"), section.text, truecaser, subwords, vocab)

    def tokenise(self, line: str) -> str:
        return tokenise(line, self.language, self.text)

    def subwords(self, words: str) -> str:
        return self._subwords.apply(self._cased(words))

    def encode(self, words: str) -> list[int]:
        """Ids without EOS."""
        ids: list[int] = np.frombuffer(self.encode_to_bytes(words), self.id_type).tolist()
        return ids

    def encode_to_bytes(self, words: str) -> bytes:
        """Ids without EOS as they are stored."""
        cased = self._cased(words)
        try:
            return b"".join(map(self._ids.__getitem__, cased.split(" ")))
        except OddWordError:
            return self._to_bytes(self._subwords.apply(cased))

    def encode_lines(self, lines: Sequence[str]) -> Ids:
        """Of tokenised lines, an EOS after each."""
        eos = np.array([EOS], dtype=self.id_type).tobytes()
        encoded = [self.encode_to_bytes(words) for words in lines]
        lengths = np.array(list(map(len, encoded)), dtype=np.int64) // self.id_type.itemsize + 1
        return Ids(eos.join(encoded) + eos, lengths)

    def words(self, subwords: str) -> str:
        return self._truecaser.undo(undo(subwords)) if self.text.truecase else undo(subwords)

    def plain(self, words: str) -> str:
        return detokenise(words, self.language, self.text)

    def _cased(self, words: str) -> str:
        return self._truecaser.apply(words) if self.text.truecase else words

    def _ids_of_word(self, word: str) -> bytes:
        return self._to_bytes(self._subwords.split(word))

    def _to_bytes(self, subwords: str) -> bytes:
        return np.array(self.vocab.encode(subwords), dtype=self.id_type).tobytes()
