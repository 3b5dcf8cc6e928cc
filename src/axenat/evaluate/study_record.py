"""What a study left behind, already read: all that its figures, tables and page are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from axenat.config import is_ablation
from axenat.evaluate.paper import Paper
from axenat.evaluate.seeds import first_seeds
from axenat.evaluate.tables import by_split

Record = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What one run left behind; a part it did not leave is None or empty."""

    name: str
    config: Record | None = None
    decode: Record | None = None
    history: Sequence[Record] = ()
    tuned: Record | None = None
    provenance: Record | None = None
    analyses: Sequence[Record] = ()
    chosen: bool = True  # the winner of its grid, or in no grid; an ablation never is

    @property
    def is_ablation(self) -> bool:
        return is_ablation((self.config or {}).get("objective") or {})

    @property
    def objective(self) -> str:
        return ((self.config or {}).get("objective") or {}).get("name") or "unknown"

    @property
    def target_side(self) -> str:
        return (self.config or {}).get("target_side") or "unknown"

    def analysis(self) -> Record | None:
        """That of the test set if there is one."""
        return min(self.analyses, key=lambda record: record.get("split") != "test", default=None)

    def alignments(self) -> list[Record]:
        """Those of the test set if there are any."""
        aligned = [record for record in self.analyses if record.get("alignments")]
        first = min(aligned, key=lambda record: record.get("split") != "test", default=None)
        return list(first["alignments"]) if first else []


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
    speed: Record = field(default_factory=dict)  # what a clock said: `training` of runs, `decoding` of systems
    teachers: Sequence[str] = ()  # runs whose translations are the distilled side
    paper: Paper | None = None
    paper_columns: Mapping[str, str] = field(default_factory=dict)  # of the corpora that are the paper's own
    published: str = ""  # the column that all others are shown beside
    lacking: Sequence[str] = ()  # kinds of run that the study would need for more
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
