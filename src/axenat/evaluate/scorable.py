"""What may be scored: as many references as hypotheses, at least one, and words, not subwords."""

import re
from collections.abc import Sequence

from axenat.files import UserError

# Byte pair encoding marks what goes on (`Au@@ to`), SentencePiece where a word begins (`▁Au to`).
_SUBWORDS = re.compile(r"(?P<bpe>@@(?: |$))|(?:^| )(?P<pieces>▁\w)")


def check_scorable(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse what would give a number that means nothing."""
    if not references:
        raise UserError("a score needs at least one reference set, got none")
    if not hypotheses:
        raise UserError("the test set is empty; a score needs at least one sentence")
    for number, reference in enumerate(references):
        if len(reference) != len(hypotheses):
            raise UserError(
                f"{len(hypotheses)} hypotheses but {len(reference)} lines in reference set {number}; "
                "a score needs the same number"
            )
    refuse_subwords(hypotheses, "hypotheses")
    for number, reference in enumerate(references):
        refuse_subwords(reference, f"reference set {number}")


def refuse_subwords(lines: Sequence[str], name: str) -> None:
    """BLEU of subwords is far too high, and looks like good news."""
    for number, line in enumerate(lines, start=1):
        if found := _SUBWORDS.search(line):
            mark = "@@ " if found["bpe"] else "▁"
            raise UserError(f"{name}, line {number}: holds subword marks (`{mark}`); join the subwords before scoring")
