"""The tables of the paper for a study: its records in, one table each out. What is missing is said, not refused."""

from collections.abc import Callable
from dataclasses import replace

from axenat.evaluate.ablation_tables import length_multiplier, skip_target_penalty, training_objectives
from axenat.evaluate.analysis_tables import confidence, lengths, repetitions
from axenat.evaluate.convention_table import conventions
from axenat.evaluate.corpus_table import corpora
from axenat.evaluate.decoding_table import decodings
from axenat.evaluate.main_tables import axe_against_ce, systems, target_sides
from axenat.evaluate.seed_table import seeds
from axenat.evaluate.speed_table import speed
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.table_text import Table

# The order of the paper, then our own; config.TABLE_NAMES holds the same names.
TABLES: dict[str, Callable[[StudyRecord], Table]] = {
    "axe_against_ce": axe_against_ce,
    "systems": systems,
    "target_sides": target_sides,
    "training_objectives": training_objectives,
    "skip_target_penalty": skip_target_penalty,
    "length_multiplier": length_multiplier,
    "lengths": lengths,
    "confidence": confidence,
    "repetitions": repetitions,
    "speed": speed,
    "decodings": decodings,
    "corpora": corpora,
    "conventions": conventions,
    "seeds": seeds,
}


def table_of(name: str, study: StudyRecord) -> Table:
    """With the kinds of run that the study would need for more of it."""
    table = TABLES[name](study)
    return replace(table, notes=[*table.notes, *(f"Missing: this table {sentence}." for sentence in study.lacking)])
