"""Small files made for a look in MLflow: translations beside their sources, learning curves, the end of a log."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

from axenat.files import iter_lines, read_lines

SENTENCES = 20
LOG_LINES = 200


def samples(hypothesis: Path, texts: Path, config: dict[str, Any], split: str) -> str:
    """The first translations, each under its source and reference where these are there."""
    columns = {"translation": _first(hypothesis)}
    for name, key in (("reference", "target_language"), ("source", "source_language")):
        path = texts / config["corpus"] / f"{split}.{config.get(key)}"
        if path.exists():
            columns = {name: _first(path), **columns}
    rows = zip(*columns.values(), strict=False)
    return "\n".join("".join(f"{name:<12} {text}\n" for name, text in zip(columns, row, strict=True)) for row in rows)


def _first(path: Path) -> list[str]:
    return list(islice(iter_lines(path), SENTENCES))


def learning_curve(history: Path, config: dict[str, Any]) -> str:
    """As SVG; the same history gives the same bytes."""
    from axenat.evaluate.figure_style import to_svg  # matplotlib takes a while
    from axenat.evaluate.figures import learning_curves

    records = [record for record in map(json.loads, read_lines(history)) if record.get("loss") is not None]
    run = config["run"]
    return to_svg(learning_curves({run: records}, {run: config["objective"]["name"]}, run))


def tail(path: Path) -> str:
    """The last lines of a log; a progress bar draws itself over and over in one of them."""
    lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")
    return "\n".join(line.rpartition("\r")[2] for line in lines[-LOG_LINES:])
