"""The report of a study: one HTML page that needs nothing but a browser."""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from axenat.evaluate.analysis import repeated_tokens
from axenat.evaluate.decodings import with_one_candidate
from axenat.evaluate.figure_style import inline_svg
from axenat.evaluate.report_figures import Drawing
from axenat.evaluate.study_record import StudyRecord
from axenat.evaluate.table_text import PrintedTable
from axenat.evaluate.tables import NOTHING, OBJECTIVE_LABELS, by_split, comparison_line, signatures, to_html

MAX_EXAMPLES = 8


def render_report(
    study: StudyRecord, drawings: Mapping[str, Sequence[Drawing]], printed: Sequence[PrintedTable] = ()
) -> str:
    """The page as text; sections without records say so instead of being left out."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["inline"] = inline_markdown
    template = environment.from_string(files("axenat.evaluate").joinpath("report.html.j2").read_text("utf-8"))
    shared, different = provenance_tables(study)
    return template.render(
        study=study,
        tables=_tables(study),
        printed=printed,
        comparisons=[comparison_line(comparison) for comparison in study.comparisons],
        figures={section: [_figure(drawing) for drawing in drawn] for section, drawn in drawings.items()},
        examples=examples_side_by_side(study),
        shared=shared,
        different=different,
        unknown=[run.name for run in study.runs if not run.provenance],
        seeds={run.name: run.config.get("seed") for run in study.runs if run.config},
    )


def _tables(study: StudyRecord) -> list[dict[str, Any]]:
    return [
        {
            "split": split,
            "html": Markup(to_html(scores)),
            "signatures": signatures(scores),
            "num_sentences": scores[0].get("num_sentences"),
            "num_references": scores[0].get("num_references"),
        }
        for split, scores in by_split(with_one_candidate(study.scores, study.decodings)).items()
    ]


def inline_markdown(text: str) -> Markup:
    """The two marks that tables use, `code` and **bold**, in text that is escaped first."""
    coded = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", coded))


def _figure(drawing: Drawing) -> dict[str, Any]:
    svg = Markup(inline_svg(drawing.svg, drawing.name, drawing.caption))
    return {"svg": svg, "caption": drawing.caption, "wide": drawing.wide}


def examples_side_by_side(study: StudyRecord) -> list[dict[str, Any]]:
    """The same sources with the output of each chosen run; repeated words are marked."""
    by_source: dict[str, dict[str, Any]] = {}
    for score in study.shown():
        analysis = study.run(score["run"]).analysis()
        if not analysis:
            continue
        label = OBJECTIVE_LABELS.get(score["objective"], score["objective"])
        for example in analysis.get("examples") or ():
            entry = by_source.setdefault(example["source"], {**example, "outputs": []})
            words = example["hypothesis"].split()
            marked = list(zip(words, repeated_tokens(words), strict=True))
            entry["outputs"].append({"label": label, "run": score["run"], "words": marked})
    return list(by_source.values())[:MAX_EXAMPLES]


def provenance_tables(study: StudyRecord) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What all runs have in common, once; what differs, by key and run."""
    flat = {run.name: _flattened(run.provenance) for run in study.runs if run.provenance}
    keys = list(dict.fromkeys(key for values in flat.values() for key in values))
    shared: dict[str, str] = {}
    different: dict[str, dict[str, str]] = {}
    for key in keys:
        values = {run: record.get(key, NOTHING) for run, record in flat.items()}
        if len(set(values.values())) == 1:
            shared[key] = next(iter(values.values()))
        else:
            different[key] = values
    return shared, different


def _flattened(record: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            flat.update(_flattened(value, f"{prefix}{key}."))
        elif isinstance(value, list):
            flat[prefix + str(key)] = ", ".join(str(item) for item in value)
        else:
            flat[prefix + str(key)] = NOTHING if value is None else str(value)
    return flat
