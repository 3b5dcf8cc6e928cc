"""Tests on a real Slurm, which starts with the first of them and is ended by its process ids after the last, unless it
ran before.

They install packages and write to /etc/slurm, so that they run only when asked for: `make test-slurm`.
"""

import os
from collections.abc import Iterator

import pytest

from tests.cluster import lab

ASKED = "AXENAT_SLURM" in os.environ
collect_ignore_glob = [] if ASKED else ["test_*.py"]


@pytest.fixture(scope="session")
def slurm() -> Iterator[None]:
    before = lab.runs()
    lab.start()
    yield
    if not before:
        lab.stop()


@pytest.fixture
def all_nodes(slurm) -> None:
    """Also after a test that lost one."""
    lab.start()
