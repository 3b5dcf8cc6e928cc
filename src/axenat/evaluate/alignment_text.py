"""An AXE alignment in letters: one line an operator, in the order of the path."""

from collections.abc import Iterator, Mapping
from typing import Any

NAMES = {"align": "align", "skip_target": "skip target", "skip_prediction": "skip prediction"}


def alignment_text(alignment: Mapping[str, Any]) -> str:
    """Operators with their tokens and costs, and what the predictions would have said."""
    rows = [("operator", "target", "prediction", "cost", "likeliest at this prediction"), *_steps(alignment)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if column == 3 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    total = f"A[n, m] = {shown_cost(alignment['total'], 4)} with delta = {alignment['skip_target_penalty']:g}"
    return "\n".join([*lines, total])


def _steps(alignment: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str]]:
    """Prediction after prediction: first what it was aligned with or that it was skipped, then what it took along."""
    targets = list(
        zip(
            alignment["targets"], alignment["operators"], alignment["target_costs"], alignment["prediction_of_target"],
            strict=True,
        )
    )  # fmt: skip
    for j, prediction in enumerate(alignment["predictions"]):
        top = "  ".join(f"{token} {probability:.2f}" for token, probability in prediction["top"])
        if prediction["skipped"]:
            yield NAMES["skip_prediction"], "", f"P{j + 1}", shown_cost(prediction["blank_cost"]), top
        for token, operator, cost, at in targets:
            if at == j:
                yield NAMES[operator], token, f"P{j + 1}", shown_cost(cost), top
                top = '"'


def shown_cost(cost: float | None, digits: int = 2) -> str:
    """None is the cost of probability zero; rounding leaves no minus before zero."""
    return "∞" if cost is None else f"{max(0.0, cost):.{digits}f}"
