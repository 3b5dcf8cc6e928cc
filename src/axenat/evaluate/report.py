"""The report of a study: one HTML page that needs nothing but a browser, and one of what is never the same twice."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jinja2
from markupsafe import Markup, escape

from axenat.catalogue import CATALOGUE, TIMED
from axenat.evaluate.alignment_figure import shown_token
from axenat.evaluate.alignment_text import shown_cost
from axenat.evaluate.analysis import repeated_tokens
from axenat.evaluate.contrasts import all_pairs
from axenat.evaluate.decodings import with_one_candidate
from axenat.evaluate.figure_style import for_page
from axenat.evaluate.report_items import ShownFigure, ShownTable, items, shown_item
from axenat.evaluate.reproduction import Departure, differences
from axenat.evaluate.stage_graph import stage_graph
from axenat.evaluate.study_record import Record, StudyRecord
from axenat.evaluate.tables import NOTHING, by_split, comparison_line, signatures, to_html
from axenat.evaluate.verdicts import verdicts
from axenat.systems.registry import PROPOSED, label_of

MAX_EXAMPLES = 8  # of each corpus
PASSING = ("host", "processor", "slurm_job")  # facts of a run that may be others each time
APART = [name for name, item in CATALOGUE.items() if item.apart]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the page tells beside the study's own records."""

    jobs: Mapping[str, int] = field(default_factory=dict)
    departures: Sequence[Departure] = ()
    data: Record | None = None  # what data.dvc pins
    failures: Sequence[str] = ()
    so_far: bool = False  # the study is not done
    machine_link: str = ""  # the other page, seen from this one


def render_report(
    study: StudyRecord,
    tables: Sequence[ShownTable] = (),
    figures: Sequence[ShownFigure] = (),
    around: Surroundings | None = None,
) -> str:
    """The page as text, the same wherever the study is run; sections without records say so."""
    around = around or Surroundings()
    shown = {item.name: item for item in items(tables, figures) if item.name not in TIMED}
    return _template("report.html.j2").render(
        study=study,
        around=around,
        missing=[*around.failures, *by_run(study.missing)],
        graph=Markup(stage_graph(around.jobs)) if around.jobs else "",
        verdicts=verdicts(study),
        results=_results(study),
        comparisons=[comparison_line(comparison) for comparison in study.comparisons],
        items=[item for item in shown.values() if item.name not in APART],
        apart={name: shown.get(name) or shown_item(name) for name in APART},
        alignments=(aligned := alignments(study)),
        alignment_data=Markup(_for_script([alignment["record"] for alignment in aligned])),
        examples=examples_side_by_side(study),
        differences=differences(study.runs),
        **_made(study, without=PASSING),
        machine_link=around.machine_link,
        seeds={run.name: (run.config or {}).get("seed") for run in study.runs},
    )


def render_machine(study: StudyRecord, tables: Sequence[ShownTable] = ()) -> str:
    """What a clock said, and who made the runs: never the same twice, so that it stands on a page of its own."""
    timed = [item for item in items(tables, ()) if item.name in TIMED]
    return _template("machine.html.j2").render(study=study, items=timed, **_made(study))


def _made(study: StudyRecord, without: Sequence[str] = ()) -> dict[str, Any]:
    """Commit, software and machine of the runs, but for some facts."""
    shared, different = (
        {key: value for key, value in facts.items() if key not in without} for facts in provenance_tables(study)
    )
    unknown = [run.name for run in study.runs if not run.provenance]
    return {"shared": shared, "different": different, "unknown": unknown}


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("axenat.evaluate", "page"),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = inline_markdown
    environment.filters["breakable"] = _breakable
    environment.filters["cost"] = shown_cost
    environment.filters["token"] = shown_token
    environment.filters["for_page"] = lambda panel, label: Markup(for_page(panel, label))
    return environment.get_template(name)


def _results(study: StudyRecord) -> list[dict[str, Any]]:
    return [
        {
            "split": split,
            "html": Markup(to_html(scores)),
            "signatures": signatures(scores),
            "sizes": {score["corpus"]: (score.get("num_sentences"), score.get("num_references")) for score in scores},
        }
        for split, scores in by_split(with_one_candidate(study.scores, study.decodings)).items()
    ]


def by_run(missing: Sequence[str]) -> list[str]:
    """What is not there of one run is one sentence, in the place of the first; of a run that has not begun, no more."""
    gone = {where for where, absent, _ in (sentence.partition(": no such folder") for sentence in missing) if absent}
    told: dict[str, list[str]] = {}
    for sentence in missing:
        file = re.fullmatch(r"(.*\bruns/[^/]+)/(.+): no such file", sentence)
        if not file:
            told.setdefault(sentence, [])
        elif file[1] not in gone:
            told.setdefault(file[1], []).append(file[2])
    return [f"{where}: no {', '.join(dict.fromkeys(files))}" if files else where for where, files in told.items()]


def inline_markdown(text: str) -> Markup:
    """The two marks that tables use, `code` and **bold**, in text that is escaped first."""
    coded = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", coded))


def _breakable(name: str) -> Markup:
    """A long key may go on in the next line after a dot or an underscore."""
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(name))))


def _for_script(value: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026")


def alignments(study: StudyRecord) -> list[dict[str, Any]]:
    """All alignments of the AXE runs that stand beside cross entropy, or else of any, with lines to draw."""
    runs = dict.fromkeys(axe["run"] for axe, _ in all_pairs(study)) or dict.fromkeys(
        run.name for run in study.runs if run.objective == PROPOSED.name
    )
    return [
        {"run": run, "record": record, "rows": max(len(record["targets"]), len(record["predictions"])),
         "links": [{"operator": operator, "start": place + 0.5, "end": at + 0.5}
                   for place, (operator, at) in enumerate(
                       zip(record["operators"], record["prediction_of_target"], strict=True))]}
        for run in runs
        for record in study.run(run).alignments()
    ]  # fmt: skip


def examples_side_by_side(study: StudyRecord) -> list[dict[str, Any]]:
    """The first sources of each corpus with the output of each chosen run; repeated words are marked."""
    by_line: dict[tuple[str, int], dict[str, Any]] = {}  # a source may stand on several lines, and in several corpora
    for score in study.shown():
        analysis = study.run(score["run"]).analysis()
        if not analysis:
            continue
        label = label_of(score["objective"])
        for line, example in enumerate((analysis.get("examples") or ())[:MAX_EXAMPLES]):
            entry = by_line.setdefault((score["corpus"], line), {**example, "corpus": score["corpus"], "outputs": []})
            words = example["hypothesis"].split()
            marked = list(zip(words, repeated_tokens(words), strict=True))
            entry["outputs"].append({"label": label, "run": score["run"], "words": marked})
    return list(by_line.values())


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
