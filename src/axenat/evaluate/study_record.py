"""What a study left behind, already read: all that its figures, tables and page are made of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from axenat.evaluate.comparisons import pairs_to_compare
from axenat.evaluate.seeds import first_seeds, group_of
from axenat.evaluate.tables import by_split

Record = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What one run left behind; a part it did not leave is None or empty."""

    name: str
    config: Record | None = None
    history: Sequence[Record] = ()
    tuned: Record | None = None
    provenance: Record | None = None
    analyses: Sequence[Record] = ()

    @property
    def objective(self) -> str:
        return ((self.config or {}).get("objective") or {}).get("name") or "unknown"

    @property
    def target_side(self) -> str:
        return (self.config or {}).get("target_side") or "unknown"

    def analysis(self) -> Record | None:
        """That of the test set if there is one."""
        return min(self.analyses, key=lambda record: record.get("split") != "test", default=None)


@dataclass(frozen=True, kw_only=True)
class CorpusRecord:
    name: str
    origin: Record = field(default_factory=dict)  # where its text comes from, and what others counted
    raw: Sequence[Record] = ()  # what `download` counted in each split
    counts: Sequence[Record] = ()  # what `clean` kept of each split


@dataclass(frozen=True, kw_only=True)
class StudyRecord:
    """All a report is made of, already read; `missing` says in words what could not be."""

    name: str
    note: str = ""
    scores: Sequence[Record] = ()  # of each run's own decoding
    decodings: Sequence[Record] = ()  # of all, those included
    comparisons: Sequence[Record] = ()
    runs: Sequence[RunRecord] = ()
    choices: Sequence[Record] = ()
    corpora: Sequence[CorpusRecord] = ()
    missing: Sequence[str] = field(default_factory=tuple)

    def run(self, name: str) -> RunRecord:
        return next((run for run in self.runs if run.name == name), RunRecord(name=name))

    def objectives(self) -> dict[str, str]:
        return {run.name: run.objective for run in self.runs}

    def first_split(self) -> list[Record]:
        """The scores a reader cares for most: test, else whatever was scored."""
        return next(iter(by_split(self.scores).values()), [])

    def shown(self) -> list[Record]:
        """Of the first split what is shown of single runs: those chosen, and the least seed of those repeated."""
        return first_seeds([score for score in self.first_split() if score["chosen"]])

    def pairs(self) -> Iterator[tuple[Record, Record]]:
        """(AXE, CE) scores of the same corpus and target side; the first seed that both have stands for all."""
        seen = set()
        for pair in pairs_to_compare(sorted(self.first_split(), key=lambda score: score.get("seed") or 0)):
            names = tuple(group_of(score) or score["run"] for score in pair)
            if names not in seen:
                seen.add(names)
                yield pair
