"""The house of the stages' tests is built once for all of them."""

import pytest

from tests.support.house import House


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("house"))
