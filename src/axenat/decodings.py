"""What decodings are called, on disk and in configurations.

beam5 is a beam of 5; ell5 are 5 length candidates, in a single pass; ell5-t4 are as many in 4 passes of Mask-Predict.
"""

import re
from typing import Any

from axenat.records import ConfigError, one_of

TEACHER_ENGINES, STUDENT_ENGINES = ("torch", "ctranslate2"), ("torch", "onnx")
PRECISIONS = ("float32", "float16", "int8")
CANNOT = {"torch": "int8", "onnx": "float16"}  # on any device

NAME = re.compile(r"beam(?P<beam>[1-9]\d*)|ell(?P<ell>[1-9]\d*)(-t(?P<t>[2-9]|[1-9]\d+))?", re.ASCII)


def check_engine(engine: str, precision: str) -> None:
    one_of("decode.engine", engine, ("auto", *TEACHER_ENGINES, *STUDENT_ENGINES[1:]))
    one_of("decode.precision", precision, ("auto", *PRECISIONS))
    if CANNOT.get(engine) == precision:
        allowed = ", ".join(kind for kind in PRECISIONS if kind != precision)
        raise ConfigError(f"decode.precision of engine {engine} must be one of auto, {allowed}, got {precision!r}")


def is_decoding(name: str) -> bool:
    return NAME.fullmatch(name) is not None


def name_of(*, causal: bool, beam_size: int, num_length_candidates: int, iterations: int) -> str:
    if causal:
        return f"beam{beam_size}"
    return f"ell{num_length_candidates}" + (f"-t{iterations}" if iterations > 1 else "")


def sizes_in(name: str, where: str = "") -> dict[str, Any]:
    """What a name says, under the keys of a decode section."""
    match = NAME.fullmatch(name)
    if match is None:
        raise ConfigError(f"{where}{name!r} is no decoding; allowed are names such as beam1, ell1 and ell5-t4")
    if match["beam"]:
        return {"beam_size": int(match["beam"])}
    return {"num_length_candidates": int(match["ell"]), "iterations": int(match["t"] or 1)}
