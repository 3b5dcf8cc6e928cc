"""The table of digests answers as a set does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axenat.data import duplicates
from axenat.data.duplicates import Seen

# Few low bits, so that digests want the same places, and the first and the last place too.
digests = st.one_of(st.integers(0, 12), st.sampled_from([2**64 - 1, 2**63, 15, 16, 31, 32]), st.integers(0, 2**64 - 1))


@given(st.lists(st.lists(digests, max_size=30), max_size=12))
def test_a_digest_is_new_exactly_if_a_set_has_not_seen_it(chunks) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "SMALLEST", 16)
        seen, slow = Seen(), set()
        for chunk in chunks:
            expected = []
            for digest in chunk:
                digest = digest or 1  # the two share a place
                expected.append(digest not in slow)
                slow.add(digest)
            assert seen.add(np.array(chunk, dtype=np.uint64)).tolist() == expected
            assert len(seen) == len(slow)


def test_a_million_digests_cost_at_most_two_and_a_half_places_each() -> None:
    rng, seen = np.random.default_rng(1), Seen()
    numbers = rng.integers(0, 2**64, 1_000_000, dtype=np.uint64)
    for chunk in np.array_split(numbers, 300):
        assert seen.add(chunk).all()
    assert not any(seen.add(chunk).any() for chunk in np.array_split(numbers, 300))
    assert len(seen) == len(numbers)
    assert seen.nbytes < 2.5 * 8 * len(numbers)
