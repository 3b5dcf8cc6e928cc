"""The paper's own numbers, read from config/paper.yaml and checked: only ever shown as published."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from axenat.config import PAPER_COLUMNS
from axenat.files import read_yaml
from axenat.records import ConfigError, at_least, build, one_of
from axenat.systems.registry import SYSTEMS

Values = Mapping[str, float]  # by column
CONVENTIONS = ("tokenised", "sacrebleu")
# The rows of which a study may have runs of its own.
OURS = tuple(dict.fromkeys(row for system in SYSTEMS.values() for row in system.paper_rows.values()))


def _percentages(where: str, values: Values) -> None:
    """BLEU, too, is one."""
    for column, value in values.items():
        one_of(f"each column of {where}", column, PAPER_COLUMNS)
        if not 0.0 <= value <= 100.0:
            raise ConfigError(f"{where}.{column} must be from 0 to 100, got {value}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperColumn:
    """A corpus in one direction, and how the paper scored it."""

    title: str
    bleu: str
    signature: str = ""

    def __post_init__(self) -> None:
        one_of("bleu", self.bleu, CONVENTIONS)


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemRow:
    """Test BLEU of one system; `system` names it where a study may have its own."""

    label: str
    bleu: dict[str, float]
    system: str | None = None
    citation: str = ""  # none: the paper's own
    iterations: str = "1"
    target_side: str | None = None

    def __post_init__(self) -> None:
        if self.system is not None:
            one_of("system", self.system, OURS)
        if self.target_side is not None:
            one_of("target_side", self.target_side, ("raw", "distilled"))
        _percentages("bleu", self.bleu)


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectiveRow:
    observe: str
    score: str
    bleu: dict[str, float]

    def __post_init__(self) -> None:
        one_of("observe", self.observe, ("some", "none"))
        one_of("score", self.score, ("hidden", "all"))
        _percentages("bleu", self.bleu)


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueRow:
    """Valid BLEU with one value of delta or lambda."""

    value: float
    bleu: dict[str, float]
    skip_target_percent: dict[str, float] | None = None  # of delta alone

    def __post_init__(self) -> None:
        at_least("value", self.value, 1.0)
        _percentages("bleu", self.bleu)
        _percentages("skip_target_percent", self.skip_target_percent or {})


@dataclass(frozen=True, kw_only=True, slots=True)
class LengthRow:
    low: int
    high: int | None
    ce: dict[str, float]
    axe: dict[str, float]

    def __post_init__(self) -> None:
        at_least("low", self.low, 1)
        if self.high is not None:
            at_least("high", self.high, self.low + 1)
        for item in fields(self)[2:]:
            _percentages(item.name, getattr(self, item.name))


@dataclass(frozen=True, kw_only=True, slots=True)
class RepetitionRow:
    system: str
    percent: dict[str, float]

    def __post_init__(self) -> None:
        one_of("system", self.system, OURS)
        _percentages("percent", self.percent)


@dataclass(frozen=True, kw_only=True, slots=True)
class Confidence:
    """Of cross entropy and long sentences, as section 5 puts it: "about", "almost a third"."""

    long_above: int
    ce_neighbour: float
    ce_neighbour_to_peak: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    training_time_axe_to_ce: float
    average_gain_over_ce: float
    largest_gain_over_ce: float
    average_gain_over_flowseq: float
    average_gain_of_length_multiplier: float
    repetition_factor: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Paper:
    """Tables by the names that ours have."""

    title: str
    citation: str
    columns: dict[str, PaperColumn]
    axe_against_ce: tuple[SystemRow, ...]
    systems: tuple[SystemRow, ...]
    target_sides: tuple[SystemRow, ...]
    training_objectives: tuple[ObjectiveRow, ...]
    skip_target_penalty: tuple[ValueRow, ...]
    length_multiplier: tuple[ValueRow, ...]
    lengths: tuple[LengthRow, ...]
    confidence: Confidence
    repetitions: tuple[RepetitionRow, ...]
    stated: Stated

    def __post_init__(self) -> None:
        if tuple(self.columns) != PAPER_COLUMNS:
            raise ConfigError(f"columns must be {', '.join(PAPER_COLUMNS)}, got {', '.join(self.columns)}")

    def bleu(self, table: str, **keys: object) -> Values:
        """By column, of the row of a table whose keys have these values; of none if it has no such row."""
        rows = (row for row in getattr(self, table) if all(getattr(row, key) == keys[key] for key in keys))
        return next((row.bleu for row in rows), {})

    def values(self) -> Iterator[tuple[str, str, float]]:
        """Table, column and value of every published number that stands in a table."""
        for item in fields(self):
            rows = getattr(self, item.name)
            for row in rows if isinstance(rows, tuple) else ():
                measured = [getattr(row, part.name) for part in fields(row)]
                for values in (values for values in measured if isinstance(values, dict)):
                    yield from ((item.name, column, value) for column, value in values.items())


def load_paper(path: str | Path) -> Paper:
    return build(Paper, read_yaml(path), str(path))
