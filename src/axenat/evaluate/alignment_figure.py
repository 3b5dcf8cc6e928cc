"""An AXE alignment drawn as in the paper's Figure 2: targets on top, predictions beneath, lines between."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from axenat.evaluate.alignment_text import shown_cost
from axenat.evaluate.figure_style import AMBER, BLUE, INK, PAPER, SOFT, house_style

ROW = 0.21  # inches of a line of text
TARGET_TOP, TARGET_BOTTOM = 0.62, 0.0
PREDICTION_TOP = -0.95
LETTER = 0.088  # inches of an average letter
LEAST_WIDTH = 5.5  # inches, for the key below
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
OPERATORS = {"align": (BLUE, "-"), "skip_target": (AMBER, (0, (3, 2)))}


def alignment_figure(alignment: Mapping[str, Any], title: str = "") -> Figure:
    """Boxes for targets (token, operator, cost) and predictions (top five), lines for the alignment alpha."""
    targets, predictions = alignment["targets"], alignment["predictions"]
    num_columns = max(len(targets), len(predictions), 1)
    num_ranks = max([len(prediction["top"]) for prediction in predictions], default=0)
    pitch = _pitch(alignment)
    width = max(num_columns * pitch, LEAST_WIDTH)
    bottom = PREDICTION_TOP - ROW * (num_ranks + 2.4)
    top = TARGET_TOP + (0.4 if title else 0.08)
    with house_style():
        figure = Figure(figsize=(0.95 + width, top - bottom + 0.4))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(-0.95, width)
        axes.set_ylim(bottom - 0.4, top)
        if title:
            axes.text(-0.9, TARGET_TOP + 0.2, title, va="center", fontsize=10.5, fontweight="bold")
        _draw_names(axes, num_ranks)
        for index in range(len(targets)):
            _draw_target(axes, alignment, index, pitch)
        for index in range(len(predictions)):
            _draw_prediction(axes, alignment, index, pitch, num_ranks)
        _draw_key(axes, alignment, bottom - 0.2)
    return figure


def _pitch(alignment: Mapping[str, Any]) -> float:
    """Width of a column: wide enough for its longest token with a probability beside it."""
    texts = [len(shown_token(token)) + 4 for prediction in alignment["predictions"] for token, _ in prediction["top"]]
    texts += [len(shown_token(token)) + 1 for token in alignment["targets"]]
    return max(0.95, LETTER * max(texts, default=0) + 0.12)


def shown_token(token: str) -> str:
    return "ε" if token == "<blank>" else token


def _draw_names(axes: Axes, num_ranks: int) -> None:
    middle = PREDICTION_TOP - ROW * (num_ranks / 2 + 0.6)
    for y, text in ((TARGET_TOP / 2, "target Y"), (middle, f"prediction P\n(top {num_ranks})")):
        axes.text(-0.9, y, text, va="center", fontsize=8.5, fontweight="bold", linespacing=1.4)


def _draw_target(axes: Axes, alignment: Mapping[str, Any], index: int, pitch: float) -> None:
    operator, cost = alignment["operators"][index], alignment["target_costs"][index]
    colour, dashes = OPERATORS[operator]
    x, middle = index * pitch, (index + 0.5) * pitch
    box = (x + 0.05, TARGET_BOTTOM), pitch - 0.1, TARGET_TOP - TARGET_BOTTOM
    axes.add_patch(Rectangle(*box, facecolor=PAPER, edgecolor=colour, linewidth=1.3, linestyle=dashes))
    axes.text(
        middle,
        TARGET_TOP - 0.22,
        shown_token(alignment["targets"][index]),
        ha="center",
        va="center",
        fontweight="bold",
    )
    axes.text(middle, TARGET_BOTTOM + 0.17, shown_cost(cost), ha="center", va="center", fontsize=8, color=colour)
    to = (alignment["prediction_of_target"][index] + 0.5) * pitch
    axes.plot([middle, to], [TARGET_BOTTOM, PREDICTION_TOP], color=colour, linestyle=dashes, linewidth=1.7)


def _draw_prediction(axes: Axes, alignment: Mapping[str, Any], index: int, pitch: float, num_ranks: int) -> None:
    prediction = alignment["predictions"][index]
    x, middle, height = index * pitch + 0.05, (index + 0.5) * pitch, ROW * (num_ranks + 1.3)
    box = (x, PREDICTION_TOP - height), pitch - 0.1, height
    centred: Any = {"ha": "center", "va": "center", "color": SOFT}
    axes.add_patch(Rectangle(*box, facecolor=PAPER, edgecolor=SOFT, linewidth=1))
    if prediction["skipped"]:
        axes.add_patch(Rectangle(*box, facecolor=SOFT, alpha=0.16))
        axes.add_patch(Rectangle(*box, fill=False, hatch="///", edgecolor=SOFT, alpha=0.35))
        below = PREDICTION_TOP - height - ROW * 0.65
        axes.text(middle, below, f"skip  {shown_cost(prediction['blank_cost'])}", fontsize=8, **centred)
    axes.text(middle, PREDICTION_TOP - ROW * 0.6, f"P{index + 1}".translate(SUBSCRIPTS), **centred)
    paid = _paid_tokens(alignment, index)
    for rank, (token, probability) in enumerate(prediction["top"]):
        y = PREDICTION_TOP - ROW * (rank + 1.65)
        if token in paid:
            shade = Rectangle((x + 0.03, y - ROW / 2), pitch - 0.16, ROW, facecolor=paid[token], alpha=0.3)
            axes.add_patch(shade)
        weight = "bold" if token in paid else "normal"
        colour = SOFT if prediction["skipped"] and token not in paid else INK
        axes.text(x + 0.07, y, shown_token(token), va="center", fontsize=9, fontweight=weight, color=colour)
        share = f"{probability:.2f}".lstrip("0")
        axes.text(x + pitch - 0.17, y, share, ha="right", va="center", fontsize=7.5, color=SOFT)


def _paid_tokens(alignment: Mapping[str, Any], index: int) -> dict[str, str]:
    """The tokens whose cost at this prediction enters the loss, with the colour of their operator."""
    columns = (alignment["targets"], alignment["operators"], alignment["prediction_of_target"])
    paid = {token: OPERATORS[operator][0] for token, operator, at in zip(*columns, strict=True) if at == index}
    return paid | ({"<blank>": SOFT} if alignment["predictions"][index]["skipped"] else {})


def _draw_key(axes: Axes, alignment: Mapping[str, Any], y: float) -> None:
    x = -0.9
    for text, colour, dashes in (("align", BLUE, "-"), ("skip target", *OPERATORS["skip_target"])):
        axes.plot([x, x + 0.35], [y, y], color=colour, linestyle=dashes, linewidth=1.7)
        axes.text(x + 0.42, y, text, va="center", fontsize=8.5)
        x += 0.6 + LETTER * len(text)
    axes.add_patch(Rectangle((x, y - 0.09), 0.3, 0.18, facecolor="none", hatch="///", edgecolor=SOFT))
    axes.text(x + 0.37, y, "skip prediction", va="center", fontsize=8.5)
    loss = f"A[n, m] = {shown_cost(alignment['total'])}, δ = {alignment['skip_target_penalty']:g}"
    axes.text(x + 1.75, y, loss, va="center", fontsize=8.5, fontweight="bold")
