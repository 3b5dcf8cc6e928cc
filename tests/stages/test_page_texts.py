"""Examples, alignments and curves on the page and in figures are those of the runs that they are said to be of."""

import html
import re
from typing import Any

import pytest
from matplotlib.figure import Figure

from axenat.catalogue import TABLE_NAMES
from axenat.files import read_text, write_json
from tests.support.evaluation_study import LABELS, NAMES, Study, chosen, decode_of
from tests.support.evaluation_texts import axenat


def alignment(run: str) -> dict[str, Any]:
    """Five targets and four predictions; which meet, and at what cost, is another thing for each run."""
    place = NAMES.index(run)
    costs = [round(0.11 * (place + 1) + index, 2) for index in range(5)]
    return {
        "source": f"aligned source of {run}",
        "targets": [f"{run}-t{index}" for index in range(5)],
        "prediction_of_target": [0, 2, 2, 3, 3] if place % 2 else [1, 1, 2, 2, 3],
        "operators": ["align", "align", "skip_target", "align", "skip_target"],
        "target_costs": costs,
        "predictions": [
            {"top": [[f"{run}-p{index}", 0.9]], "skipped": index == (1 if place % 2 else 0), "blank_cost": 9.0 + index}
            for index in range(4)
        ],
        "total": sum(costs),
        "skip_target_penalty": 2.5,
    }


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Runs of one corpus have the same sources, of which the first has a word in its translation twice."""
    made = Study(folder=tmp_path_factory.mktemp("study"), seed=8)
    for (run, split), analysis in made.analyses.items():
        corpus = run.partition("-")[0]
        lines = [
            {
                "source": f"{split} source {number} of {corpus}",
                "reference": f"{split} reference {number} of {corpus}",
                "hypothesis": f"{split} output {number} of of {run}",
            }
            for number in range(2)
        ]
        more = {"examples": lines, "alignments": [alignment(run)] if "axe" in run and split == "test" else []}
        write_json(made.folder / "runs" / run / split / f"{decode_of(run)}.analysis.json", analysis | more)
    return made


@pytest.fixture(scope="module")
def page(study: Study) -> str:
    return study.write_page()


def test_each_example_has_the_outputs_of_test_of_the_chosen_runs_of_its_corpus(page: str) -> None:
    section = page[page.index('<section id="examples">') : page.index('<section id="data">')]
    found = {}
    for block in section.split('<dl class="example">')[1:]:
        names, texts = (re.findall(rf"<{tag}.*?>(.*?)</{tag}>", block) for tag in ("dt", "dd"))
        found[texts[0]] = dict(zip(names[1:], texts[1:], strict=True))
    expected = {}
    for corpus in ("north", "demo", "east"):
        for number in range(2):
            outputs = {"reference": f"test reference {number} of {corpus}"}
            for objective, label in LABELS.items():
                for run in chosen(objective, corpus):
                    outputs[f"{label} ({run})"] = f"test output {number} of <mark>of</mark> {run}"
            expected[f"test source {number} of {corpus}"] = outputs
    assert found == expected


def drawn_runs() -> list[str]:
    return chosen("axe")


def test_an_alignment_on_the_page_links_each_target_with_its_prediction(page: str) -> None:
    blocks = page.split('<div class="pair"')[1:]
    assert len(blocks) == len(drawn_runs())
    for run in drawn_runs():
        record = alignment(run)
        (block,) = [block for block in blocks if f"({run}, " in block]
        assert f"aligned source of {run} " in block and f"A[n, m] = {record['total']:.2f}, δ = 2.5)" in block
        links = re.findall(r'<path class="(\w+)" d="M0 ([\d.]+)C.*? 100 ([\d.]+)"/>', block)
        expected = zip(record["operators"], range(5), record["prediction_of_target"], strict=True)
        assert [(name, float(a) - 0.5, float(b) - 0.5) for name, a, b in links] == list(expected)
        targets = re.findall(r'data-target="\d+"><span class="token">(.+?)</span><span class="cost">(.+?)<', block)
        assert [(html.unescape(token), float(cost)) for token, cost in targets] == list(
            zip(record["targets"], record["target_costs"], strict=True)
        )


def test_a_drawn_alignment_leads_from_each_target_to_its_prediction(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    save = Figure.savefig

    def note(figure: Figure, *args: Any, **more: Any) -> None:
        figures.append(figure)
        save(Figure(figsize=(1, 1)), *args, **more)

    monkeypatch.setattr(Figure, "savefig", note)
    study.draw("alignment")
    for run, figure in zip(drawn_runs(), figures, strict=True):
        (axes,) = figure.axes
        record = alignment(run)
        middles = {text.get_text(): text.get_position()[0] for text in axes.texts}
        lines = [line.get_xdata() for line in axes.lines[:5]]
        for target, prediction, (start, end) in zip(
            record["targets"], record["prediction_of_target"], lines, strict=True
        ):
            # A prediction is named by its number, P and a digit below.
            name = f"P{'₁₂₃₄'[prediction]}"
            assert (start, end) == pytest.approx((middles[target], middles[name]))
        assert [middles[f"{cost:.2f}"] for cost in record["target_costs"]] == [
            middles[token] for token in record["targets"]
        ]


def test_what_there_is_so_far_is_what_the_stages_write(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a study that is done, the same tables, and the page judges as the other one does."""
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda _, *args, **more: save(Figure(figsize=(1, 1)), *args, **more))
    tables = study.write_tables(*TABLE_NAMES)
    summary = [study.folder / "summary.json"]
    tests = [{"a": "demo-axe-raw", "b": "demo-ce-raw", "split": "test", "p_value": 0.04321, "p_value_repetition": 0.3}]
    tests[0] |= {"difference": 1.0, "test": "t", "num_samples": 9}
    write_json(study.folder / "summary.json", {"comparisons": tests})
    out = study.folder / "so-far"
    request = study.request("so-far", summary=summary, **study.for_tables())
    axenat("report_so_far", "--request", request, "--logs", study.folder / "logs", "--out", out)
    written = {path.name: path.read_bytes() for path in (out / "tables").iterdir()}
    assert written == {path.name: path.read_bytes() for path in tables.iterdir()}
    pages = [read_text(out / "report.html"), study.write_page("whole", summary=summary)]
    judged = [page[page.index('<section id="verdicts">') : page.index('<section id="results">')] for page in pages]
    assert judged[0] == judged[1] and "(p = 0.043)" in judged[0]
