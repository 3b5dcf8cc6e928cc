"""The charts of a study, each one panel: numbers in, a matplotlib figure out."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from axenat.evaluate.figure_style import (
    BLUE,
    GREEN,
    INK,
    PAPER,
    RED,
    SOFT,
    colour_of,
    colours_of,
    house_style,
    new_figure,
)
from axenat.systems.registry import BASELINE, PROPOSED, label_of

MAX_POINTS = 400  # of one curve; more cannot be seen and would only fatten the page


def system_bars(
    groups: Mapping[str, Sequence[Mapping[str, Any]]], teacher: Mapping[str, Any] | None, title: str
) -> Figure:
    """BLEU with its interval, one group a target side, CE beside AXE (paper, Table 2); the teacher is a line above."""
    with house_style():
        figure = new_figure()
        axes = figure.subplots()
        width = 0.8 / max(2, *(len(scores) for scores in groups.values()))
        for group, scores in enumerate(groups.values()):
            for place, score in enumerate(scores):
                at = group + (place - (len(scores) - 1) / 2) * width
                colour = colour_of(score["objective"])
                label = label_of(score["objective"])
                axes.bar(at, score["bleu"], width * 0.9, color=colour, label=label)
                axes.errorbar(at, score["bleu"], _whiskers(score), color=INK, linewidth=1, capsize=3)
                axes.annotate(
                    f"{score['bleu']:.1f}", (at, 0), (0, 4), textcoords="offset points", ha="center", color=PAPER
                )
        if teacher:
            axes.axhline(teacher["bleu"], color=GREEN, linestyle=":", label=f"teacher ({teacher['bleu']:.1f})")
        axes.set_xticks(range(len(groups)), list(groups))
        axes.grid(visible=False, axis="x")
        axes.set(title=title, ylabel=f"BLEU on {next(iter(groups.values()))[0]['split']}")
        _legend_below(figure, axes)
    return figure


def side_slopes(lines: Mapping[str, Mapping[str, Mapping[str, Any]]], title: str) -> Figure:
    """BLEU of each objective from raw to distilled targets (paper, Table 4)."""
    with house_style():
        figure = new_figure()
        axes = figure.subplots()
        for objective, sides in lines.items():
            points = [(place, sides[side]) for place, side in enumerate(("raw", "distilled")) if side in sides]
            colour = colour_of(objective)
            heights = [score["bleu"] for _, score in points]
            label = label_of(objective)
            axes.plot([place for place, _ in points], heights, color=colour, marker="o", label=label)
            for place, score in points:
                axes.errorbar(place, score["bleu"], _whiskers(score), color=colour, linewidth=1, capsize=3)
                offset = (-10, 0) if place == 0 else (10, 0)
                axes.annotate(
                    f"{score['bleu']:.1f}", (place, score["bleu"]), offset, textcoords="offset points",
                    ha="right" if place == 0 else "left", va="center", fontsize=8.5,
                )  # fmt: skip
        axes.set_xticks((0, 1), ("raw", "distilled"))
        axes.set_xlim(-0.35, 1.35)
        axes.grid(visible=False, axis="x")
        axes.set(title=title, xlabel="targets of train", ylabel="BLEU on test")
        axes.margins(y=0.15)
        _legend_below(figure, axes)
    return figure


def _whiskers(score: Mapping[str, Any]) -> Any:
    """How far the interval reaches below and above; nowhere if there is none."""
    bleu = score["bleu"]
    low, high = score.get("bleu_low"), score.get("bleu_high")
    return [[bleu - (bleu if low is None else low)], [(bleu if high is None else high) - bleu]]


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
            lower.set_ylim(0, max(rate for _, rate in rated) * 1.15 or 0.01)  # room for the highest mark
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
        colours = [colour_of(score["objective"]) for score in scores]
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
        for system, curve, dashes in ((BASELINE, cross_entropy, "--"), (PROPOSED, axe, "-")):
            pairs = [p for p in zip(curve["offsets"], curve["probability"], strict=True) if p[1] is not None]
            name = f"{system.label} ({curve['num_sentences']} sentences)"
            axes.plot(
                [p[0] for p in pairs],
                [p[1] for p in pairs],
                dashes,
                color=colour_of(system.name),
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
    once = dict(zip(labels, handles, strict=True))
    if once:
        figure.legend(once.values(), once.keys(), loc="outside lower center", ncols=min(3, len(once)))
