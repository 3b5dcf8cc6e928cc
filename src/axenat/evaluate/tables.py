"""The result table of a study: scores in, Markdown, CSV, HTML or lines for the terminal out."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from axenat.systems.registry import label_of, place_of

SPLIT_ORDER = {"test": 0, "valid": 1}
SIDE_ORDER = {"raw": 0, "distilled": 1}

COLUMNS = [
    "split",
    "run",
    "corpus",
    "objective",
    "target_side",
    "skip_target_penalty",
    "length_multiplier",
    "decode",
    "bleu",
    "bleu_low",
    "bleu_high",
    "bleu_one_candidate",
    "repetition",
    "repetition_words",
    "valid_share",
    "length_ratio",
    "num_sentences",
    "num_references",
    "chosen",
    "signature",
]
NUMERIC = ("δ", "λ", "BLEU", "95 % interval", "BLEU, ℓ = 1", "repeated %", "valid %")
ONE_CANDIDATE = "ℓ = 1: with one length candidate, and the λ that was tuned for the run's own number of them"
NOTHING = "-"


def results_frame(scores: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row a score, full precision, in reading order: split, target side, objective, delta."""
    ordered = sorted(scores, key=_reading_order)
    return pd.DataFrame([{column: score.get(column) for column in COLUMNS} for score in ordered], columns=COLUMNS)


def _reading_order(score: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        SPLIT_ORDER.get(score["split"], len(SPLIT_ORDER)),
        place_of(score["objective"]) > 0,  # the teacher stands above both sides
        SIDE_ORDER.get(score["target_side"], len(SIDE_ORDER)),
        place_of(score["objective"]),
        score.get("skip_target_penalty") or 0,
        score["run"],
    )


def display_frame(scores: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The same rows, rounded and named for people."""
    rows = [
        {
            "run": score["run"],
            "objective": label_of(score["objective"]),
            "target side": score["target_side"],
            "δ": _number(score.get("skip_target_penalty"), "g"),
            "λ": _number(score.get("length_multiplier"), ".2f"),
            "BLEU": _number(score.get("bleu"), ".2f"),
            "95 % interval": _interval(score.get("bleu_low"), score.get("bleu_high")),
            "BLEU, ℓ = 1": _number(score.get("bleu_one_candidate"), ".2f"),
            "repeated %": _number(score.get("repetition"), ".2f", scale=100),
            "valid %": _number(score.get("valid_share"), ".1f", scale=100),
            "chosen": "✓" if score.get("chosen") else "",
        }
        for score in sorted(scores, key=_reading_order)
    ]
    return pd.DataFrame(rows, columns=["run", "objective", "target side", *NUMERIC, "chosen"], dtype=str)


def _number(value: float | None, style: str, *, scale: float = 1) -> str:
    return NOTHING if value is None else format(value * scale, style)


def _interval(low: float | None, high: float | None) -> str:
    return NOTHING if low is None or high is None else f"[{low:.2f}, {high:.2f}]"


def by_split(scores: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    splits: dict[str, list[Mapping[str, Any]]] = {}
    for score in sorted(scores, key=_reading_order):
        splits.setdefault(score["split"], []).append(score)
    return splits


def signatures(scores: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each signature once; with the runs it belongs to when there is more than one."""
    runs_of: dict[str, list[str]] = {}
    for score in scores:
        runs_of.setdefault(score["signature"], []).append(score["run"])
    if len(runs_of) == 1:
        return list(runs_of)
    return [f"{signature} ({', '.join(dict.fromkeys(runs))})" for signature, runs in runs_of.items()]


def comparison_line(comparison: Mapping[str, Any]) -> str:
    """One comparison in words; what 1000 samples cannot resolve is not claimed."""
    difference, p_value = comparison["difference"], comparison["p_value"]
    a, b = comparison["a"], comparison["b"]
    direction = "above" if difference >= 0 else "below"
    verdict = "significant at 0.05" if p_value < 0.05 else "not significant at 0.05"
    tested = f"{comparison['test']}, {comparison['num_samples']} samples"
    if comparison.get("p_value_randomisation") is not None:
        tested += f"; p = {comparison['p_value_randomisation']:.4f} by randomisation, {comparison['num_trials']} trials"
    said = f"{comparison['split']}: {a} is {abs(difference):.2f} BLEU {direction} {b}"
    return f"{said} (p = {p_value:.3f}, {verdict}; {tested})"


def to_csv(scores: Sequence[Mapping[str, Any]]) -> str:
    return str(results_frame(scores).to_csv(index=False, lineterminator="\n"))


def to_html(scores: Sequence[Mapping[str, Any]]) -> str:
    return str(display_frame(scores).to_html(index=False, border=0, classes="results", escape=True))


def to_markdown(summary: Mapping[str, Any]) -> str:
    parts = [f"# Results of the study {summary['study']}"]
    for split, scores in by_split(summary["scores"]).items():
        frame = display_frame(scores)
        lines = [f"| {' | '.join(frame.columns)} |"]
        lines.append("|" + "|".join("--:" if name in NUMERIC else ":--" for name in frame.columns) + "|")
        for row in frame.itertuples(index=False):
            lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |")
        parts += [f"## {split}", "\n".join(lines), ONE_CANDIDATE + "."]
        parts += [f"`{signature}`" for signature in signatures(scores)]
    if summary["comparisons"]:
        parts += [
            "## Comparisons",
            "\n".join(f"- {comparison_line(each)}" for each in summary["comparisons"]),
        ]
    return "\n\n".join(parts) + "\n"


def to_terminal(summary: Mapping[str, Any]) -> str:
    parts = []
    for split, scores in by_split(summary["scores"]).items():
        parts += [f"{summary['study']}, {split} set", *_aligned(display_frame(scores))]
        parts.append(f"  {ONE_CANDIDATE}")
        parts += [f"  BLEU {signature}" for signature in signatures(scores)] + [""]
    parts += [f"  {comparison_line(each)}" for each in summary["comparisons"]]
    return "\n".join(parts).rstrip("\n")


def _aligned(frame: pd.DataFrame) -> list[str]:
    columns = list(frame.columns)
    rows = [columns, *([str(cell) for cell in row] for row in frame.itertuples(index=False))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(columns))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if name in NUMERIC else cell.ljust(width)
            for name, cell, width in zip(columns, row, widths, strict=True)
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    rule = "  " + "  ".join("─" * width for width in widths)
    return [rule, lines[0], rule, *lines[1:], rule]
