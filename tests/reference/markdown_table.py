"""A table read back from its Markdown, cell by cell: what stands there for people is what the page shows."""

import re
from typing import Any


def from_markdown(markdown: str) -> dict[str, Any]:
    lines = [line for line in markdown.splitlines() if line]
    grid = [line for line in lines if line.startswith("|")]
    labels, rule, *rows = map(_cells, grid)
    assert lines[0].startswith("# ") and lines[2:][: len(grid)] == grid
    return {
        "title": lines[0].removeprefix("# "),
        "caption": lines[1],
        "labels": labels,
        "numeric": tuple(cell.endswith(":") for cell in rule),
        "rows": tuple(rows),
        "notes": tuple(line.removeprefix("- ") for line in lines[2 + len(grid) :]),
    }


def _cells(line: str) -> tuple[str, ...]:
    cells = re.split(r"(?<!\\)\|", line)[1:-1]
    return tuple(cell.strip().replace(r"\|", "|") for cell in cells)
