"""What a check found, and how bad it is."""

from collections.abc import Sequence
from dataclasses import dataclass

LEVELS = ("ok", "warning", "problem")


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem stops the study now or later; a warning is only good to know. `fix` says what to do about either."""

    level: str
    about: str
    words: str
    fix: str = ""

    def __post_init__(self) -> None:
        assert self.level in LEVELS and bool(self.fix) == (self.level != "ok"), self


def ok(about: str, words: str) -> Finding:
    return Finding("ok", about, words)


def warning(about: str, words: str, fix: str) -> Finding:
    return Finding("warning", about, words, fix)


def problem(about: str, words: str, fix: str) -> Finding:
    return Finding("problem", about, words, fix)


def as_list(findings: Sequence[Finding]) -> list[str]:
    """One line each, what to do below it."""
    level_width = max(map(len, LEVELS))
    width = max((len(finding.about) for finding in findings), default=0)
    lines = []
    for finding in findings:
        lines.append(f"{finding.level:<{level_width}}  {finding.about:<{width}}  {finding.words}")
        if finding.fix:
            lines.append(f"{'':{level_width}}  {'':{width}}  -> {finding.fix}")
    return lines
