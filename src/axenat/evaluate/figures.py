"""The charts of a study, each one panel: numbers in, a matplotlib figure out."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from axenat.evaluate.figure_style import BLUE, FAMILIES, INK, RED, SOFT, colours_of, house_style, new_figure

MAX_POINTS = 400  # of one curve; more cannot be seen and would only fatten the page


def learning_curves(
    histories: Mapping[str, Sequence[Mapping[str, Any]]], objectives: Mapping[str, str], title: str
) -> Figure:
    """Train (thin) and valid (thick, dots) loss over steps, one colour a run."""
    with house_style():
        figure = new_figure()
        axes = figure.subplots()
        colours = colours_of({run: objectives[run] for run in histories})
        for run, records in histories.items():
            colour = colours[run]
            train = _thinned([record for record in records if record["kind"] == "train"])
            valid = _thinned([record for record in records if record["kind"] == "valid"])
            axes.plot(*_columns(train), color=colour, linewidth=0.9, alpha=0.6)
            axes.plot(*_columns(valid), color=colour, marker="o", markersize=3, label=run)
        axes.set(title=title, xlabel="step", ylabel="loss per token")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        _legend_below(figure, axes)
    return figure


def _thinned(records: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return records[:: max(1, -(-len(records) // MAX_POINTS))]


def _columns(records: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    return [record["step"] for record in records], [record["loss"] for record in records]


def tuning_curves(tuned: Sequence[Mapping[str, Any]], objectives: Mapping[str, str], title: str) -> Figure:
    """Valid BLEU over lambda (or the teacher's length penalty), the chosen value ringed."""
    with house_style():
        figure = new_figure()
        axes = figure.subplots()
        colours = colours_of({record["run"]: objectives[record["run"]] for record in tuned})
        for record in tuned:
            colour = colours[record["run"]]
            tried = sorted((c for c in record["candidates"] if c["bleu"] is not None), key=lambda c: c["value"])
            axes.plot(
                [c["value"] for c in tried],
                [c["bleu"] for c in tried],
                color=colour,
                marker="o",
                label=record["run"],
            )
            _ring(axes, [(c["value"], c["bleu"]) for c in tried if c["value"] == record["value"]], colour)
        keys = sorted({record["key"] for record in tuned})
        axes.set(title=title, xlabel=" / ".join(map(key_label, keys)), ylabel="BLEU on valid")
        _legend_below(figure, axes)
    return figure


def grid_curve(choice: Mapping[str, Any], title: str) -> Figure:
    """BLEU above, skip-target rate below, over the values of a grid such as delta's (paper, Table 6)."""
    with house_style():
        figure = new_figure(height=4.1)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        candidates = sorted(choice["candidates"], key=lambda candidate: candidate["value"])
        scored = [(x, c) for x, c in enumerate(candidates) if c["bleu"] is not None]
        upper.plot([x for x, _ in scored], [c["bleu"] for _, c in scored], color=RED, marker="o")
        _ring(upper, [(x, c["bleu"]) for x, c in scored if c["run"] == choice["chosen"]], RED)
        upper.set(title=title, ylabel="BLEU on valid")
        rated = [(x, c["skip_target_rate"]) for x, c in enumerate(candidates) if c.get("skip_target_rate") is not None]
        if rated:
            lower.plot([x for x, _ in rated], [rate for _, rate in rated], color=SOFT, marker="s")
            lower.set_ylim(bottom=0)
        else:
            lower.text(0.5, 0.5, "no skip-target rates", transform=lower.transAxes, ha="center", color=SOFT)
        lower.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
        lower.set(xlabel=key_label(choice["key"]), ylabel="targets\nskipped")
        lower.set_xticks(range(len(candidates)), [_short(c["value"]) for c in candidates])
        lower.margins(x=0.08)
    return figure


def key_label(key: str) -> str:
    """A config key in words, with the paper's letter where it has one."""
    letters = {"skip_target_penalty": "skip-target penalty δ", "length_multiplier": "length multiplier λ"}
    return letters.get(key, key.replace("_", " "))


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def bleu_by_length(buckets_of: Mapping[str, Sequence[Mapping[str, Any]]], title: str) -> Figure:
    """Grouped bars, one group a length bucket that holds sentences, one bar a system (paper, Table 8)."""
    with house_style():
        figure = new_figure()
        axes = figure.subplots()
        first = next(iter(buckets_of.values()))
        shown = [index for index, bucket in enumerate(first) if bucket["num_sentences"]]
        width = 0.8 / len(buckets_of)
        for place, (label, buckets) in enumerate(buckets_of.items()):
            at = [group + (place - (len(buckets_of) - 1) / 2) * width for group in range(len(shown))]
            heights = [buckets[index]["bleu"] or 0.0 for index in shown]
            bars = axes.bar(at, heights, width * 0.92, color=(BLUE, RED)[place % 2], label=label)
            axes.bar_label(bars, fmt="%.0f", fontsize=7.5, padding=1.5, color=INK)
        names = [f"{_span(first[index])}\n({first[index]['num_sentences']})" for index in shown]
        axes.set_xticks(range(len(shown)), names)
        axes.grid(visible=False, axis="x")
        axes.set(title=title, xlabel="tokens of the reference (sentences)", ylabel="BLEU")
        axes.margins(y=0.12)
        _legend_below(figure, axes)
    return figure


def _span(bucket: Mapping[str, Any]) -> str:
    return f"{bucket['low']}+" if bucket["high"] is None else f"{bucket['low']}-{bucket['high'] - 1}"


def repetition_bars(scores: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """Repeated tokens of each run, coloured by objective (paper, Table 9)."""
    with house_style():
        figure = new_figure(height=1.1 + 0.3 * len(scores))
        axes = figure.subplots()
        rates = [score["repetition"] for score in scores]
        colours = [FAMILIES.get(score["objective"], (SOFT,))[0] for score in scores]
        bars = axes.barh([score["run"] for score in scores], rates, 0.68, color=colours)
        axes.bar_label(bars, [f"{rate:.2%}" for rate in rates], fontsize=8.5, padding=3, color=INK)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=None))
        axes.set(title=title, xlabel="tokens equal to their left neighbour")
        axes.set_xlim(0, max([*rates, 0.001]) * 1.18)
    return figure


def confidence_curves(cross_entropy: Mapping[str, Any], axe: Mapping[str, Any], title: str) -> Figure:
    """Probability of a generated token around its position: CE dashed blue, AXE solid red (Figure 3)."""
    with house_style():
        figure = new_figure()
        axes = figure.subplots()
        for label, curve, colour, dashes in (("CE", cross_entropy, BLUE, "--"), ("AXE", axe, RED, "-")):
            pairs = [p for p in zip(curve["offsets"], curve["probability"], strict=True) if p[1] is not None]
            name = f"{label} ({curve['num_sentences']} sentences)"
            axes.plot(
                [p[0] for p in pairs],
                [p[1] for p in pairs],
                dashes,
                color=colour,
                marker="o",
                markersize=3.5,
                label=name,
            )
        axes.set_ylim(0, 1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(title=title, xlabel="distance from the generated position", ylabel="mean probability")
        _legend_below(figure, axes)
    return figure


def _ring(axes: Axes, points: Sequence[tuple[float, float]], colour: str) -> None:
    for x, y in points:
        axes.plot(x, y, "o", markersize=11, markerfacecolor="none", markeredgecolor=colour, markeredgewidth=1.6)


def _legend_below(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(handles)))
