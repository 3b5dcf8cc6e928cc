"""What `axenat figures` draws, read back from matplotlib, is what the records say."""

from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from tests.support.evaluation_study import BOUNDS, GRIDS, LABELS, NAMES, RUNS, Study, chosen

BLUE, RED, GREEN = "#2f7fc1", "#d6502b", "#1a9a76"
COLOURS = {"left_to_right": GREEN, "masked": BLUE, "axe": RED}
NAMES_OF_FIGURES = (
    "axe_against_ce",
    "target_sides",
    "skip_target_penalty",
    "length_multiplier",
    "lengths",
    "confidence",
    "repetitions",
    "training",
)
ABOUT = {name: about for name, *about in RUNS}
# AXE and cross entropy where both are: corpus, side, and how the page calls the place.
PLACES = {
    "north, raw targets": ("north", "raw"),
    "north, distilled targets": ("north", "distilled"),
    "demo, raw targets": ("demo", "raw"),
    "demo, distilled targets": ("demo", "distilled"),
    "east, distilled targets": ("east", "distilled"),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(folder=tmp_path_factory.mktemp("study"), seed=4)


@pytest.fixture(scope="module")
def panels(study: Study) -> dict[str, Figure]:
    """Every panel that the stage saves, by its title; in the file stands the title alone, which is quick."""
    found: dict[str, Figure] = {}
    patch = pytest.MonkeyPatch()
    save = Figure.savefig

    def note(figure: Figure, *args: Any, **more: Any) -> None:
        title = figure.axes[0].get_title(loc="left")
        assert title not in found, "two panels have one title"
        found[title] = figure
        small = Figure(figsize=(1, 1))
        small.text(0, 0, title)
        save(small, *args, **more)

    patch.setattr(Figure, "savefig", note)
    study.draw(*NAMES_OF_FIGURES)
    patch.undo()
    return found


def points(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]  # type: ignore


def labelled(axes: Axes) -> dict[str, Line2D]:
    lines = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert len({line.get_label() for line in lines}) == len(lines)
    return {str(line.get_label()): line for line in lines}


def whiskers(axes: Axes) -> list[tuple[float, float, float]]:
    """Place, lower and upper end of each interval."""
    bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    ends = [bar.lines[2][0].get_segments()[0] for bar in bars]
    return [(float(low[0]), float(low[1]), float(high[1])) for low, high in ends]


def bars(axes: Axes) -> list[tuple[str, Rectangle]]:
    """With the label of each, which stands for all of one call."""
    found = [one for one in axes.containers if isinstance(one, BarContainer)]
    return [(str(one.get_label()), patch) for one in found for patch in one]  # type: ignore[misc]


@pytest.mark.parametrize("corpus", ["north", "demo", "east"])
def test_a_bar_is_the_bleu_of_its_objective_on_its_side_with_its_interval(study: Study, panels, corpus: str) -> None:
    (axes,) = panels[f"AXE against CE, {corpus}"].axes
    sides = [label.get_text().removesuffix(" targets") for label in axes.get_xticklabels()]
    assert sides == ["raw", "distilled"][corpus == "east" :]
    found = {}
    for (label, patch), (at, low, high) in zip(bars(axes), whiskers(axes), strict=True):
        middle = patch.get_x() + patch.get_width() / 2
        assert middle == pytest.approx(at)
        found[sides[round(middle)], label] = patch.get_height(), low, high, to_hex(patch.get_facecolor())
    expected = {}
    for side in sides:
        for objective in ("masked", "axe"):
            (run,) = chosen(objective, corpus, side)
            values = (study.own(run)[key] for key in ("bleu", "bleu_low", "bleu_high"))
            expected[side, LABELS[objective]] = (*map(pytest.approx, values), COLOURS[objective])
    assert found == expected
    teacher = next(line for label, line in labelled(axes).items() if label.startswith("teacher"))
    assert points(teacher)[0][1] == study.own(f"{corpus}-teacher")["bleu"]


@pytest.mark.parametrize("corpus", ["north", "demo"])
def test_a_slope_leads_from_raw_on_the_left_to_distilled_on_the_right(study: Study, panels, corpus: str) -> None:
    (axes,) = panels[f"Raw and distilled targets, {corpus}"].axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["raw", "distilled"]
    lines = labelled(axes)
    assert set(lines) == {"CE", "AXE"}
    ends = {
        (place, study.own(run)["bleu_low"], study.own(run)["bleu_high"])
        for place, side in enumerate(("raw", "distilled"))
        for name in ("masked", "axe")
        for run in chosen(name, corpus, side)
    }
    assert {tuple(round(value, 6) for value in one) for one in whiskers(axes)} == {
        tuple(round(value, 6) for value in one) for one in ends
    }
    for objective in ("masked", "axe"):
        line = lines[LABELS[objective]]
        runs = [chosen(objective, corpus, side)[0] for side in ("raw", "distilled")]
        assert points(line) == [(place, study.own(run)["bleu"]) for place, run in enumerate(runs)]
        assert to_hex(line.get_color()) == COLOURS[objective]


@pytest.mark.parametrize("group", GRIDS)
def test_a_grid_has_bleu_above_and_skipped_targets_below_and_a_ring_at_the_choice(
    study: Study, panels, group: str
) -> None:
    upper, lower = panels[f"Skip-target penalty δ, {group}"].axes
    choice = study.choices[group]
    candidates = sorted(choice["candidates"], key=lambda candidate: candidate["value"])
    curve, ring = upper.lines
    assert points(curve) == [(place, each["bleu"]) for place, each in enumerate(candidates)]
    (chosen_place,) = [place for place, each in enumerate(candidates) if each["run"] == choice["chosen"]]
    assert points(ring) == [(chosen_place, candidates[chosen_place]["bleu"])]
    assert points(lower.lines[0]) == [(place, each["skip_target_rate"]) for place, each in enumerate(candidates)]
    assert [label.get_text() for label in lower.get_xticklabels()] == [f"{each['value']:g}" for each in candidates]


@pytest.mark.parametrize("side", ["raw", "distilled"])
def test_tuning_is_bleu_over_the_multiplier_with_a_ring_at_the_value_that_was_chosen(
    study: Study, panels, side: str
) -> None:
    (axes,) = panels[f"Length multiplier, {side} targets"].axes
    lines = labelled(axes)
    assert set(lines) == {run for run in NAMES if ABOUT[run][2] == side and ABOUT[run][0] != "left_to_right"}
    rings = [points(line)[0] for line in axes.lines if line.get_markersize() > 10]
    for (run, line), ring in zip(lines.items(), rings, strict=True):
        tuned = study.tuned[run]
        assert points(line) == [(each["value"], each["bleu"]) for each in tuned["candidates"]]
        assert ring == (tuned["value"], tuned["bleu"])
    penalties = labelled(panels[f"Length penalty, {side} targets"].axes[0])
    assert set(penalties) == {run for run in NAMES if ABOUT[run][2] == side and ABOUT[run][0] == "left_to_right"}


@pytest.mark.parametrize("place", PLACES)
def test_bleu_by_length_has_each_bucket_of_test_under_its_own_bounds(study: Study, panels, place: str) -> None:
    corpus, side = PLACES[place]
    (axes,) = panels[f"BLEU by length, {place}"].axes
    found: dict[str, list[float]] = {}
    colours: dict[str, str] = {}
    for label, patch in sorted(bars(axes), key=lambda bar: bar[1].get_x()):
        found.setdefault(label, []).append(patch.get_height())
        colours[label] = to_hex(patch.get_facecolor())
    sizes = []
    for objective in ("masked", "axe"):
        (run,) = chosen(objective, corpus, side)
        buckets = study.analyses[run, "test"]["buckets"]
        sizes = [bucket["num_sentences"] for bucket in buckets]
        label = f"{LABELS[objective]} ({run})"
        assert found.pop(label) == [bucket["bleu"] for bucket in buckets]
        assert colours[label] == COLOURS[objective]
    assert not found
    spans = [f"{low}-{high - 1}" if high else f"{low}+" for low, high in BOUNDS]
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == [f"{span}\n({size})" for span, size in zip(spans, sizes, strict=True)]


@pytest.mark.parametrize("size", ["short", "long"])
@pytest.mark.parametrize("place", PLACES)
def test_figure_3_has_the_probability_of_each_distance_dashed_for_ce_and_solid_for_axe(
    study: Study, panels, place: str, size: str
) -> None:
    corpus, side = PLACES[place]
    (axes,) = panels[f"{size.capitalize()} sentences, {place}"].axes
    lines = labelled(axes)
    assert len(lines) == 2
    for objective, style in (("masked", "--"), ("axe", "-")):
        (run,) = chosen(objective, corpus, side)
        curve = study.analyses[run, "test"]["confidence"][size]
        line = lines[f"{LABELS[objective]} ({curve['num_sentences']} sentences)"]
        assert points(line) == list(zip(range(-5, 6), curve["probability"], strict=True))
        assert (to_hex(line.get_color()), line.get_linestyle()) == (COLOURS[objective], style)
    assert axes.get_ylim() == (0, 1)


def test_repetitions_are_those_of_subwords_each_beside_its_run(study: Study, panels) -> None:
    (axes,) = panels["Repeated tokens, test set"].axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    found = {}
    for _, patch in bars(axes):
        run = names[round(patch.get_y() + patch.get_height() / 2)]
        found[run] = patch.get_width(), to_hex(patch.get_facecolor())
    assert found == {run: (study.own(run)["repetition"], COLOURS[ABOUT[run][0]]) for run in NAMES}


@pytest.mark.parametrize(("objective", "side"), [(name, side) for name in LABELS for side in ("raw", "distilled")])
def test_a_curve_has_the_loss_of_train_thin_and_that_of_valid_with_dots(
    study: Study, panels, objective: str, side: str
) -> None:
    (axes,) = panels[f"{LABELS[objective]}, {side} targets"].axes
    runs = [run for run in NAMES if (ABOUT[run][0], ABOUT[run][2]) == (objective, side)]
    assert len(axes.lines) == 2 * len(runs)
    for run, train, valid in zip(runs, axes.lines[::2], axes.lines[1::2], strict=True):
        for kind, line in (("train", train), ("valid", valid)):
            records = [record for record in study.histories[run] if record["kind"] == kind]
            assert points(line) == [(record["step"], record["loss"]) for record in records]
        assert (valid.get_label(), valid.get_marker(), train.get_marker()) == (run, "o", "None")
        assert train.get_linewidth() < valid.get_linewidth()


def test_every_file_is_named_by_what_is_drawn_in_it(study: Study, panels) -> None:
    written = {path.stem: path.read_text("utf-8") for path in (study.folder / "figures").glob("*.svg")}
    assert set(written) == set(NAMES_OF_FIGURES)
    heads = {
        "axe_against_ce": "AXE against CE, ",
        "target_sides": "Raw and distilled targets, ",
        "skip_target_penalty": "Skip-target penalty δ, ",
        "length_multiplier": "Length ",
        "lengths": "BLEU by length, ",
        "confidence": " sentences, ",
        "repetitions": "Repeated tokens, ",
        "training": "CE, raw targets",
    }
    for name, head in heads.items():
        drawn = [title for title in panels if head in title]
        assert drawn and all(f">{title}</text>" in written[name] for title in drawn)
        assert not any(
            f">{title}</text>" in text for other, text in written.items() if other != name for title in drawn
        )
