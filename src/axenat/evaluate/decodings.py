"""Several decodings of one model: what their names say, and the one with a single length candidate."""

from collections.abc import Mapping, Sequence
from typing import Any

from axenat.decodings import is_decoding, sizes_in

Score = Mapping[str, Any]
SIZES = ("beam_size", "num_length_candidates", "iterations")


def spelled_out(score: Score) -> dict[str, Any]:
    """With what the name of its decoding says under keys of its own; None where it says nothing."""
    name = score["decode"]
    sizes = sizes_in(name) if is_decoding(name) else {}
    return {**score, **{key: sizes.get(key) for key in SIZES}}


def with_one_candidate(scores: Sequence[Score], decodings: Sequence[Score]) -> list[dict[str, Any]]:
    """Beside each BLEU that of the same model with one length candidate and else the same decoding, or None."""
    found = {}
    for score in map(spelled_out, decodings):
        if score["num_length_candidates"] == 1:
            found[score["run"], score["split"], score["iterations"]] = score["bleu"]
    places = ((score["run"], score["split"], spelled_out(score)["iterations"]) for score in scores)
    return [{**score, "bleu_one_candidate": found.get(place)} for score, place in zip(scores, places, strict=True)]
