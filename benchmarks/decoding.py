"""How fast teachers and students decode, and how well: every engine, one sentence alone and many, on 1 and 2 threads.

    make demo
    python -m benchmarks.decoding --json decoding.json --plot decoding.svg

Times are from subword ids to subword ids, so that no engine pays for tokenisation. All systems take turns in each
round. `latency` is the time of one sentence alone, `sentences/s` that of the whole test set in batches as the run's
configuration sizes them. BLEU is of those translations, with the length penalty or multiplier tuned on valid.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from axenat.decode.hypothesis import Hypothesis
from axenat.decode.speed import in_batches, one_by_one
from axenat.decode.translator import Translator
from axenat.evaluate.bleu import bleu
from axenat.evaluate.figure_style import SOFT, colour_of, house_style, new_figure, save_picture
from axenat.files import UserError, read_lines
from axenat.timing import interleaved, medians, ratio
from benchmarks.measure import arguments, in_fresh_process, report

TEACHER = [(decode, *engine) for decode in ("beam5", "beam1") for engine in (
    ("torch", "float32"), ("ctranslate2", "float32"), ("ctranslate2", "int8"),
)]  # fmt: skip
STUDENT = [(decode, *engine) for decode in ("ell1", "ell5") for engine in (
    ("torch", "float32"), ("onnx", "float32"), ("onnx", "int8"),
)]  # fmt: skip
CPU = torch.device("cpu")
ALONE = 60  # sentences that are timed one by one
# What is compared: how many times faster the first is than the second.
RATIOS = {
    "batches: ctranslate2 teacher, beam 5 : torch": ("sentences", "beam5 ctranslate2 float32", "beam5 torch float32"),
    "alone: ctranslate2 teacher, beam 5 : torch": ("alone", "beam5 ctranslate2 float32", "beam5 torch float32"),
    "alone: torch student, 1 length : torch teacher, beam 5": ("alone", "ell1 torch float32", "beam5 torch float32"),
    "alone: onnx student, 1 length : ctranslate2 teacher, beam 5": (
        "alone", "ell1 onnx float32", "beam5 ctranslate2 float32",
    ),
    "alone: onnx student, 1 length : ctranslate2 teacher, greedy": (
        "alone", "ell1 onnx float32", "beam1 ctranslate2 float32",
    ),
    "batches: onnx student, 1 length : ctranslate2 teacher, beam 5": (
        "sentences", "ell1 onnx float32", "beam5 ctranslate2 float32",
    ),
    "batches: onnx student, 5 lengths : ctranslate2 teacher, greedy": (
        "sentences", "ell5 onnx float32", "beam1 ctranslate2 float32",
    ),
}  # fmt: skip
LIMITS = {
    "at_least": {
        "batches: ctranslate2 teacher, beam 5 : torch": 3.0,
        "alone: torch student, 1 length : torch teacher, beam 5": 5.0,
    }
}


@dataclass(frozen=True)
class Study:
    teacher: Path
    student: Path
    source: Path
    references: tuple[Path, ...]
    rounds: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--teacher", type=Path, default=Path("results/runs/teacher"), help="(default: %(default)s)")
    parser.add_argument(
        "--student", type=Path, default=Path("results/runs/axe-distilled"), help="(default: %(default)s)"
    )
    parser.add_argument("--source", type=Path, default=Path("data/demo/test.en"), help="(default: %(default)s)")
    parser.add_argument("--references", type=Path, nargs="+", help="(default: data/demo/test*.de)")
    parser.add_argument("--plot", type=Path, help="where the picture of speed against BLEU goes (.svg, .png)")


def main(argv: list[str] | None = None) -> None:
    args = arguments(__doc__, argv, 5, add_arguments)
    references = args.references or sorted(Path("data/demo").glob("test*.de"))
    for path in (args.teacher, args.student, args.source):
        if not path.exists():
            raise SystemExit(f"{path} is missing; run make demo, or name other runs and texts (see --help)")
    study = Study(args.teacher, args.student, args.source, tuple(references), args.rounds)
    counts = [args.threads] if args.threads else sorted({1, min(2, torch.get_num_threads())})
    systems, ratios = [], []
    for threads in counts:
        torch.set_num_threads(threads)
        found = in_fresh_process(measured, study)
        systems += [{"threads": threads, **row} for row in found["systems"]]
        ratios += [{"threads": threads, **row} for row in found["ratios"]]
    if args.plot:
        save_picture(args.plot, picture([row for row in systems if row["threads"] == counts[-1]]))
    results = {"sentences": len(read_lines(study.source)), "systems": systems, "ratios": ratios, "limits": LIMITS}
    report(args.json, "decoding", results, list(_table(results)))


def measured(study: Study) -> dict[str, Any]:
    """All systems on as many threads as torch has now."""
    together, alone, outputs, about = {}, {}, {}, {}
    for folder, decodings in ((study.teacher, TEACHER), (study.student, STUDENT)):
        for decode, engine, precision in decodings:
            try:
                translator = Translator(folder, CPU, decode, engine=engine, precision=precision)
                name = f"{decode} {engine} {precision}"
                sources = encoded(translator, study.source)
                together[name] = _whole(translator, sources, outputs, name)
            except UserError as error:  # an engine that is not installed is left out, and said so
                print(f"{decode} {engine} {precision}: {error}")
                continue
            alone[name] = one_by_one(translator, sources[:ALONE])
            objective = translator.folder.run.objective.name
            about[name] = (translator, {"run": folder.name, "objective": objective, "decode": decode,
                                        "engine": engine, "precision": precision})  # fmt: skip
    seconds = {"sentences": interleaved(together, study.rounds), "alone": interleaved(alone, study.rounds)}
    references = [read_lines(path) for path in study.references]
    rows = []
    for name, (translator, described) in about.items():
        exact = f"{described['decode']} torch float32"
        score = bleu([translator.text(one).text for one in outputs[name]], references, num_bootstrap=0)
        same = sum(one.ids == other.ids for one, other in zip(outputs[name], outputs[exact], strict=True))
        rows.append({
            "name": name, **described, "bleu": score["bleu"], "signature": score["signature"],
            "same_as_torch": same / len(outputs[name]),
            "sentences_per_second": len(outputs[name]) / medians(seconds["sentences"])[name],
            "latency_milliseconds": 1000 * medians(seconds["alone"])[name] / min(ALONE, len(outputs[name])),
        })  # fmt: skip
    compared = [
        {"name": name, "value": ratio(seconds[kind], slow, fast)}
        for name, (kind, fast, slow) in RATIOS.items()
        if {fast, slow} <= set(about)
    ]
    return {"systems": rows, "ratios": compared}


def encoded(translator: Translator, path: Path) -> list[list[int]]:
    return [translator.encode(words) for words in translator.tokenise(read_lines(path))]


def _whole(
    translator: Translator, sources: list[list[int]], outputs: dict[str, list[Hypothesis]], name: str
) -> Callable[[], None]:
    decode = in_batches(translator, sources)

    def run() -> None:
        outputs[name] = decode()

    return run


def _table(results: dict[str, Any]) -> Iterator[list[str]]:
    yield ["threads", "system", "sentences/s", "latency ms", "BLEU", "same as torch"]
    for row in results["systems"]:
        yield [str(row["threads"]), f"{row['run']} {row['name']}", f"{row['sentences_per_second']:.1f}",
               f"{row['latency_milliseconds']:.2f}", f"{row['bleu']:.2f}", f"{row['same_as_torch']:.3f}"]  # fmt: skip
    yield ["", "", "", "", "", ""]
    yield ["threads", "times faster", "", "limit", "", ""]
    for row in results["ratios"]:
        limit = LIMITS["at_least"].get(row["name"])
        yield [str(row["threads"]), row["name"], f"{row['value']:.2f}", f">= {limit}" if limit else "", "", ""]


MARKERS = {"torch": "o", "ctranslate2": "s", "onnx": "D"}
LABELS = {"beam5": ("beam 5", -14), "beam1": ("greedy", 8), "ell1": ("1 length", 8), "ell5": ("5 lengths", 8)}


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Speed against BLEU, one sentence at a time and in batches; a line joins the engines of one decoding."""
    figure = new_figure(9.5, 4.4)
    speeds = {
        "One sentence at a time": lambda row: 1000 / row["latency_milliseconds"],
        "The whole test set": lambda row: row["sentences_per_second"],
    }
    with house_style():
        panels = figure.subplots(1, 2, sharey=True)
        for panel, (title, speed) in zip(panels, speeds.items(), strict=True):
            panel.set_title(f"{title}, {rows[0]['threads']} threads")
            panel.set_xscale("log")
            panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            panel.xaxis.set_minor_locator(NullLocator())
            panel.set_xlabel("sentences a second")
            panel.margins(x=0.1, y=0.12)
            for decode, (label, offset) in LABELS.items():
                _draw(panel, [row for row in rows if row["decode"] == decode], speed, label, offset)
        panels[0].set_ylabel("BLEU")
        keys = [_key(name, marker, "full") for name, marker in MARKERS.items()] + [_key("int8", "s", "none")]
        figure.legend(handles=keys, loc="outside lower center", ncols=len(keys))
    return figure


def _draw(
    panel: Any, rows: list[dict[str, Any]], speed: Callable[[dict[str, Any]], float], label: str, offset: int
) -> None:
    rows = sorted(rows, key=speed)
    if not rows:
        return
    colour = colour_of(rows[0]["objective"])
    panel.plot([speed(row) for row in rows], [row["bleu"] for row in rows], color=colour, linewidth=0.8)
    for row in rows:
        fill = "none" if row["precision"] == "int8" else "full"
        panel.plot(speed(row), row["bleu"], MARKERS[row["engine"]], color=colour, fillstyle=fill)
    first = (speed(rows[0]), rows[0]["bleu"])
    panel.annotate(label, first, xytext=(-4, offset), textcoords="offset points", fontsize=8.5, color=colour)


def _key(name: str, marker: str, fill: Any) -> Line2D:
    return Line2D([], [], linestyle="none", marker=marker, fillstyle=fill, color=SOFT, label=name)


if __name__ == "__main__":
    main()
