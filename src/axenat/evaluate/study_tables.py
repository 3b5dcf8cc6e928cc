"""A table of the catalogue for a study: its records in, one table out. What is missing is said, not refused."""

from dataclasses import replace

from axenat.catalogue import CATALOGUE, TABLE_NAMES, load
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.table_text import Table
from axenat.records import one_of


def table_of(name: str, study: StudyRecord) -> Table:
    """With the kinds of run that the study would need for more of it."""
    one_of("a table", name, TABLE_NAMES)
    item = CATALOGUE[name]
    table: Table = load(item.table)(study)
    lacking = (f"Missing: this table {sentence}." for sentence in study.lacking)
    return replace(table, title=item.title, notes=[*table.notes, *lacking])
