"""Threads and devices are named by people, and refused in one sentence."""

import pytest
import torch

from axenat.files import UserError
from axenat.train.devices import use_threads


@pytest.mark.parametrize("number", [0, -3])
def test_less_than_one_thread_is_refused(number) -> None:
    with pytest.raises(UserError, match=f"--threads {number}: must be at least 1; leave it out to use all"):
        use_threads(number)


def test_no_number_of_threads_leaves_them_as_they_are() -> None:
    before = torch.get_num_threads()
    use_threads(None)
    assert torch.get_num_threads() == before
