"""A comparison of two outputs as lines for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from axenat.evaluate.compare import SIDES
from axenat.evaluate.tables import NOTHING

Comparison = Mapping[str, Any]
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def comparison_text(comparison: Comparison, names: Sequence[str], *, bold: bool = False) -> str:
    """Repeated words stand in brackets, or in bold where the reader is a terminal."""
    sections = (
        _scores(comparison, names),
        _buckets(comparison, names),
        _words(comparison, names),
        _examples(comparison, names, bold),
    )
    return "\n\n".join("\n".join(section) for section in map(list, sections) if section)


def _scores(comparison: Comparison, names: Sequence[str]) -> Iterator[str]:
    a, b = names
    yield "{num_sentences} sentences, references: {num_references}, language: {language}".format(**comparison)
    yield ""
    found = list(comparison["conventions"].values())
    draws = f"bootstrap, {found[0]['num_samples']}", f"randomisation, {found[0]['num_trials']}"
    rows = [["", a, "95 % interval", b, "95 % interval", f"{b} - {a}", *(f"p ({draw})" for draw in draws)]]
    for one in found:
        shown = [cell for side in SIDES for cell in _with_interval(one[side])]
        p_values = [f"{one[key]:.4f}" for key in ("p_value", "p_value_randomisation")]
        rows.append([one["label"], *shown, f"{one['difference']:+.2f}", *p_values])
    yield from aligned(rows)
    yield ""
    for one in found:
        yield f"  {one['label']}: {one['compared']}"
        yield f"    {one['signature']}"


def _with_interval(score: Mapping[str, float]) -> tuple[str, str]:
    return f"{score['value']:.2f}", f"[{score['low']:.2f}, {score['high']:.2f}]"


def _buckets(comparison: Comparison, names: Sequence[str]) -> Iterator[str]:
    yield "BLEU by the length of the first reference, in the words of sacreBLEU"
    rows = [["length", "sentences", *names, f"{names[1]} - {names[0]}"]]
    for place, bucket in enumerate(comparison["buckets"]):
        scores = [bucket[side] for side in SIDES]
        known = None not in scores
        shown = [f"{score:.2f}" for score in scores] if known else [NOTHING, NOTHING]
        difference = f"{scores[1] - scores[0]:+.2f}" if known else NOTHING
        rows.append([_bound(place, **bucket), str(bucket["num_sentences"]), *shown, difference])
    yield from aligned(rows)


def _bound(place: int, low: int, high: int | None, **scores: Any) -> str:
    """The first bucket is open below."""
    if high is None:
        return f"{low} and more" if place else "all"
    return f"{low} to {high - 1}" if place else f"up to {high - 1}"


def _words(comparison: Comparison, names: Sequence[str]) -> Iterator[str]:
    rows = [["", *names]]
    rows.append(["repeated words", *(f"{comparison['repetition'][side]:.2%}" for side in SIDES)])
    rows.append(["length ratio", *(f"{comparison['length_ratio'][side]:.3f}" for side in SIDES)])
    yield from aligned(rows)


def _examples(comparison: Comparison, names: Sequence[str], bold: bool) -> Iterator[str]:
    """The words as the tokeniser has them, since that is how repetitions are counted."""
    name_of = dict(zip(SIDES, names, strict=True))
    width = max(len("reference"), *map(len, names))
    for side, other in (("b", "a"), ("a", "b")):
        found = comparison["examples"][f"{side}_better"]
        if not found:
            yield f"{name_of[side]} is better than {name_of[other]} in no sentence that is shown"
        for example in found:
            yield f"line {example['line']}: {name_of[side]} is better by {_gain(example, side, other):.1f} chrF"
            if example["source"] is not None:
                yield f"  {'source':<{width}}  {example['source']}"
            for reference in example["references"]:
                yield f"  {'reference':<{width}}  {reference}"
            for each in SIDES:
                yield f"  {name_of[each]:<{width}}  {_marked(example[f'{each}_words'], bold)}"


def _gain(example: Mapping[str, Any], better: str, worse: str) -> float:
    return float(example[f"{better}_chrf"] - example[f"{worse}_chrf"])


def _marked(words: Sequence[Sequence[Any]], bold: bool) -> str:
    before, after = (BOLD, PLAIN) if bold else ("[", "]")
    return " ".join(f"{before}{word}{after}" if repeated else word for word, repeated in words)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        first, *others = (
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  " + "  ".join([first, *others]).rstrip())
    return lines
