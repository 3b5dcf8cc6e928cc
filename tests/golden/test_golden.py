"""Configurations, plans, DVC stages and commands are as they were recorded before the house was rebuilt.

What a finished study says is compared in tests/workflow/test_tiny.py.
"""

import pytest

from tests.golden.present import house_records, studies, study_records
from tests.golden.store import RECORDS, problems, read_records

MOST_BYTES = 450_000


@pytest.mark.parametrize("study", studies())
def test_a_study_is_resolved_and_planned_as_it_was_recorded(study):
    found = problems(study, study_records(study))
    assert not found, "\n".join(found)


def test_commands_have_the_options_and_stages_the_versions_that_were_recorded():
    found = problems("house", house_records())
    assert not found, "\n".join(found)


def test_every_recorded_study_is_there():
    assert {name.partition(":")[0] for name in read_records()} == {*studies(), "house", "finished"}


def test_records_stay_small():
    assert sum(path.stat().st_size for path in RECORDS.iterdir()) < MOST_BYTES
