"""Decodings that several systems share, as data."""

from typing import Any

from axenat.systems.spec import Decoding, Size, Tuned

# ell5: 5 length candidates in a single pass; ell5-t4: as many in 4 passes of Mask-Predict.
LENGTH_CANDIDATES = Decoding(
    sizes=(Size(key="num_length_candidates", prefix="ell"), Size(key="iterations", prefix="-t", least=2)),
    also_reads=("rank_norm",),
    tuned=Tuned(key="length_multiplier", grid="length_multipliers", least=0.5),
    example="ell5",
)


def length_head_parameters(model: Any) -> int:
    """An embedding for each length up to the longest, and one for none."""
    return int((model.max_positions + 1) * model.width)
