"""What decodings are called, on disk and in configurations.

beam5 is a beam of 5; ell5 are 5 length candidates, in a single pass; ell5-t4 are as many in 4 passes of Mask-Predict.
Each system says which form its names have.
"""

from typing import Any

from axenat.records import ConfigError, one_of
from axenat.systems.registry import all_engines, decodings

PRECISIONS = ("float32", "float16", "int8")
CANNOT = {"torch": "int8", "onnx": "float16"}  # on any device


def check_engine(engine: str, precision: str) -> None:
    one_of("decode.engine", engine, ("auto", *all_engines()))
    one_of("decode.precision", precision, ("auto", *PRECISIONS))
    if CANNOT.get(engine) == precision:
        allowed = ", ".join(kind for kind in PRECISIONS if kind != precision)
        raise ConfigError(f"decode.precision of engine {engine} must be one of auto, {allowed}, got {precision!r}")


def is_decoding(name: str) -> bool:
    return any(decoding.sizes_in(name) for decoding in decodings())


def sizes_in(name: str, where: str = "") -> dict[str, Any]:
    """What a name says, under the keys of a decode section."""
    for decoding in decodings():
        if sizes := decoding.sizes_in(name):
            return sizes
    raise ConfigError(f"{where}{name!r} is no decoding; allowed are names such as beam1, ell1 and ell5-t4")
