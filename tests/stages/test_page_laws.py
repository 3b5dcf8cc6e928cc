"""The page of `axenat report`: each verdict follows from the records, each table and figure stands under its name."""

import html
import re
from itertools import pairwise
from statistics import fmean

import pytest

from axenat.catalogue import CATALOGUE, FIGURE_NAMES, TABLE_NAMES
from axenat.files import write_json
from tests.support.evaluation_study import LABELS, RUNS, Study, chosen

PLACES = {
    "north, raw targets": ("north", "raw"),
    "north, distilled targets": ("north", "distilled"),
    "demo, raw targets": ("demo", "raw"),
    "demo, distilled targets": ("demo", "distilled"),
    "east, distilled targets": ("east", "distilled"),
}
# Of BLEU and of repetitions, one on each side of 0.05 or not, none twice.
P_VALUES = ((0.001, 0.2), (0.03, 0.004), (0.4, 0.06), (0.002, 0.041), (0.07, 0.008))
ITEMS = {
    "axe_against_ce": "Table 2",
    "systems": "Table 3",
    "target_sides": "Table 4",
    "training_objectives": "Table 5",
    "skip_target_penalty": "Table 6",
    "length_multiplier": "Table 7",
    "lengths": "Table 8",
    "confidence": "Figure 3",
    "repetitions": "Table 9",
}
APART = {"training", "alignment", "corpora", "speed"}

Finding = tuple[str, str, str]


def pair(place: str) -> tuple[str, str]:
    """AXE and cross entropy there."""
    return chosen("axe", *PLACES[place])[0], chosen("masked", *PLACES[place])[0]


@pytest.fixture(scope="module", params=[5, 6])
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Of two sets of numbers: what is above in the one may be below in the other."""
    made = Study(folder=tmp_path_factory.mktemp("study"), seed=request.param)
    comparisons = []
    for place, (p_value, p_of_repetition) in zip(PLACES, P_VALUES, strict=True):
        a, b = pair(place)
        found = {"a": a, "b": b, "split": "test", "p_value": p_value, "p_value_repetition": p_of_repetition}
        difference = made.own(a)["bleu"] - made.own(b)["bleu"]
        comparisons.append({**found, "difference": difference, "test": "paired bootstrap", "num_samples": 1000})
    write_json(made.folder / "summary.json", {"comparisons": comparisons})
    return made


@pytest.fixture(scope="module")
def page(study: Study) -> str:
    """With tables and figures that say no more than their names."""
    tables = {study.folder / "tables" / f"{name}.table.json": name for name in TABLE_NAMES}
    for path, name in tables.items():
        about = {"title": f"Title of {name}", "caption": f"Table {name}.", "notes": []}
        write_json(path, {**about, "labels": ["x"], "numeric": [True], "rows": [[f"cell of {name}"]]})
    figures = {study.folder / "figures" / f"{name}.figure.json": name for name in reversed(FIGURE_NAMES)}
    for path, name in figures.items():
        panel = f'<svg class="panel" width="9" height="9"><text>panel of {name}</text></svg>'
        write_json(path, {"name": name, "caption": f"Figure {name}.", "panels": [panel], "notes": []})
    further = [path for path in (study.folder / "runs").glob("*/test/*.score.json") if "ell1" in path.name]
    summary = [study.folder / "summary.json"]
    return study.write_page(tables=list(tables), figures=list(figures), further=further, summary=summary)


def findings(page: str, claim: str) -> list[Finding]:
    """Place, answer and words of each finding of a claim."""
    section = page[page.index('<section id="verdicts">') : page.index('<section id="results">')]
    (block,) = [part for part in section.split("<li><h3>")[1:] if part.startswith(claim)]
    pattern = re.compile(r'<li>(.+?): <span class="[\w-]+">(.+?)</span>, (.+?)</li>')
    return [(place, answer, html.unescape(words)) for place, answer, words in pattern.findall(block)]


def by_chance(shown: bool, p_value: float) -> tuple[str, str]:
    end = f" (p = {p_value:.3f})" + (", which chance may explain" if shown and p_value >= 0.05 else "")
    return "yes" if shown and p_value < 0.05 else "no", end


def test_axe_above_cross_entropy_is_told_with_the_sign_and_the_p_value_of_its_own_pair(study: Study, page: str) -> None:
    expected = []
    for place, (p_value, _) in zip(PLACES, P_VALUES, strict=True):
        axe, ce = pair(place)
        gain = study.own(axe)["bleu"] - study.own(ce)["bleu"]
        answer, end = by_chance(gain > 0, p_value)
        words = f"{axe} is {abs(gain):.2f} BLEU {'above' if gain > 0 else 'below'} {ce}{end}"
        expected.append((place, answer, words))
    assert findings(page, "AXE is above cross entropy") == expected


def test_fewer_repetitions_are_told_with_the_p_value_of_repetitions(study: Study, page: str) -> None:
    expected = []
    for place, (_, p_value) in zip(PLACES, P_VALUES, strict=True):
        of_axe, of_ce = (study.own(run)["repetition"] for run in pair(place))
        answer, end = by_chance(of_axe < of_ce, p_value)
        factor = f", {of_ce / of_axe:.1f} times as many" if of_axe < of_ce else ""
        expected.append((place, answer, f"AXE repeats {of_axe:.2%} of its tokens, CE {of_ce:.2%}{factor}{end}"))
    assert findings(page, "AXE repeats fewer tokens") == expected


def test_distilled_targets_are_told_above_or_below_raw_ones(study: Study, page: str) -> None:
    found = {place: (answer, words) for place, answer, words in findings(page, "Distilled targets are better")}
    assert set(found) == {f"{label}, {corpus}" for label in ("CE", "AXE") for corpus in ("north", "demo", "east")}
    for corpus in ("north", "demo"):
        for objective in ("masked", "axe"):
            runs = [chosen(objective, corpus, side)[0] for side in ("distilled", "raw")]
            scores = [study.own(run) for run in runs]
            gain = scores[0]["bleu"] - scores[1]["bleu"]
            apart = max(one["bleu_low"] for one in scores) > min(one["bleu_high"] for one in scores)
            words = f"{runs[0]} is {abs(gain):.2f} BLEU {'above' if gain > 0 else 'below'} {runs[1]}"
            words += "" if apart else ", but their 95 % intervals overlap"
            assert found[f"{LABELS[objective]}, {corpus}"] == ("yes" if gain > 0 else "no", words)
    assert all(found[f"{label}, east"][0] == "cannot be told" for label in ("CE", "AXE"))


def test_the_gain_on_long_sentences_is_that_of_the_last_bucket_beside_the_first(study: Study, page: str) -> None:
    expected = []
    for place in PLACES:
        axe, ce = (study.analyses[run, "test"]["buckets"] for run in pair(place))
        short, long = (axe[at]["bleu"] - ce[at]["bleu"] for at in (0, -1))
        words = f"AXE minus CE is {short:+.2f} BLEU for 1 to 9 words and {long:+.2f} for 50 or more"
        expected.append((place, "yes" if long > short else "no", words))
    assert findings(page, "AXE gains more on long sentences") == expected


def test_sharpness_is_of_the_long_sentences_of_each_objective(study: Study, page: str) -> None:
    expected = []
    for place in PLACES:
        shares = []
        for run in pair(place):
            curve = study.analyses[run, "test"]["confidence"]["long"]["probability"]
            shares.append(fmean((curve[4], curve[6])) / curve[5])
        words = f"on long sentences the neighbours get {shares[0]:.1%} of the peak with AXE, {shares[1]:.1%} with CE"
        expected.append((place, "yes" if shares[0] < shares[1] else "no", words))
    assert findings(page, "AXE knows better") == expected


def test_the_grid_of_delta_and_the_optimum_of_lambda_are_told_of_what_was_chosen(study: Study, page: str) -> None:
    expected = []
    for group in sorted(group for group, choice in study.choices.items() if choice["key"] == "skip_target_penalty"):
        candidates = sorted(study.choices[group]["candidates"], key=lambda each: each["value"])
        rates = [each["skip_target_rate"] for each in candidates]
        words = ", ".join(f"{each['skip_target_rate']:.2%} at δ = {each['value']:g}" for each in candidates)
        falls = all(after < before for before, after in pairwise(rates))
        expected.append((f"grid {group}", "yes" if falls else "no", words))
    assert sorted(findings(page, "The share of skipped targets")) == expected
    optima = {}
    for run in chosen("axe"):
        tuned = study.tuned[run]
        first, *_, last = tried = [each["bleu"] for each in tuned["candidates"]]
        inside = max(tried) > first and max(tried) > last
        words = f"λ = {tuned['value']:g} of 1 to 1.08, {max(tried) - first:.2f} BLEU above the first"
        optima[run] = "yes" if inside else "no", words + ("" if inside else "; the best lies at the edge")
    assert {run: (answer, words) for run, answer, words in findings(page, "λ has an optimum")} == optima


def test_the_three_objectives_are_told_at_the_delta_of_the_ablations(study: Study, page: str) -> None:
    unseen, whole, hidden = (
        study.tuned[run]["bleu"] for run in ("north-unseen", "north-whole", "north-axe-distilled-d5")
    )
    words = f"BLEU on valid: nothing seen {unseen:.2f}, all scored {whole:.2f}, hidden scored {hidden:.2f}"
    answer = "yes" if unseen < whole < hidden else "no"
    assert findings(page, "To see some tokens") == [("north, distilled targets", answer, words)]


def sections(page: str) -> dict[str, str]:
    """By id, each up to the next."""
    parts = re.split(r'<section id="([\w-]+)">', page)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_table_and_figure_stands_with_its_caption_in_the_section_of_its_name(page: str) -> None:
    found = sections(page)
    for name in {*TABLE_NAMES, *FIGURE_NAMES} - APART:
        text = found[name]
        if name in TABLE_NAMES:
            words = (CATALOGUE[name].title, f"Table {name}.", f"cell of {name}")
            assert all(word in text for word in words) and text.count("cell of ") == 1
        if name in FIGURE_NAMES:
            assert f"panel of {name}<" in text and f"Figure {name}." in text and text.count("panel of ") == 1
        if name in ITEMS:
            assert f'<span class="place">{ITEMS[name]}</span>' in text
    assert "panel of training<" in found["training"] and "panel of alignment<" in found["alignment"]
    assert "cell of corpora<" in found["data"] and "cell of speed" not in page
    shown = [name for name in found if name in ITEMS]
    assert shown == list(ITEMS), "in the order of the paper"


def test_the_table_of_results_has_each_run_with_its_own_numbers(study: Study, page: str) -> None:
    table = page[page.index('class="dataframe results"') :]
    labels, *rows = (
        [html.unescape(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr.*?>(.*?)</tr>", table[: table.index("</table>")], re.DOTALL)
    )
    assert {row[0] for row in rows} == {run for run, *_ in RUNS}
    for row in rows:
        cells, score = dict(zip(labels, row, strict=True)), study.own(row[0])
        assert cells["objective"] == LABELS[score["objective"]] and cells["target side"] == score["target_side"]
        assert cells["BLEU"] == f"{score['bleu']:.2f}"
        assert cells["95 % interval"] == f"[{score['bleu_low']:.2f}, {score['bleu_high']:.2f}]"
        single = study.scores.get((row[0], "ell1"))
        assert cells["BLEU, ℓ = 1"] == (f"{single['bleu']:.2f}" if single else "-")
        assert cells["repeated %"] == f"{100 * score['repetition']:.2f}"
        assert cells["valid %"] == f"{100 * score['valid_share']:.1f}"
        assert cells["chosen"] == ("✓" if row[0] in chosen() else "")
