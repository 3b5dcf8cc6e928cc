"""`axenat align`: one pair, seen as text, as a picture and as JSON; bad input in one sentence."""

import json
import re

import pytest

from axenat import cli
from axenat.decode.probabilities import describe_probabilities
from axenat.evaluate.alignment_figure import alignment_figure
from axenat.evaluate.figure_style import house_style
from axenat.files import read_json, read_yaml, write_yaml
from tests import tiny

EXAMPLE = {
    "vocabulary": ["<blank>", "it", "tastes", "pretty", "good"],
    "probabilities": [
        [0.60, 0.10, 0.10, 0.10, 0.10],
        [0.05, 0.80, 0.05, 0.05, 0.05],
        [0.05, 0.05, 0.70, 0.15, 0.05],
        [0.05, 0.05, 0.05, 0.05, 0.80],
    ],
    "targets": ["it", "tastes", "pretty", "good"],
}


@pytest.fixture
def probabilities(tmp_path):
    """Writes the example with some keys changed, and gives its path."""

    def write(**changes) -> str:
        path = tmp_path / "probabilities.json"
        path.write_text(json.dumps(EXAMPLE | changes))
        return str(path)

    return write


def test_the_path_is_told_operator_by_operator_with_its_costs(probabilities, capsys) -> None:
    assert cli.main(["align", "--probabilities", probabilities(), "--skip-target-penalty", "1.5"]) == 0
    _, *steps, total = capsys.readouterr().out.splitlines()
    told = [re.match(r"(align|skip \w+) +(\w*) +P(\d)", step).groups() for step in steps]
    assert told == [
        ("skip prediction", "", "1"),
        ("align", "it", "2"),
        ("align", "tastes", "3"),
        ("skip target", "pretty", "3"),
        ("align", "good", "4"),
    ]
    costs = [float(re.search(r"P\d\s+([0-9.]+)", step).group(1)) for step in steps]
    assert sum(costs) == pytest.approx(float(re.search(r"= ([0-9.]+) with delta = 1.5", total).group(1)), abs=0.03)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".SVG", ".Png"])
def test_it_is_drawn_in_the_format_of_the_name(suffix, probabilities, tmp_path) -> None:
    picture, values = tmp_path / f"alignment{suffix}", tmp_path / "alignment.json"
    arguments = ["--probabilities", probabilities(), "--picture", str(picture), "--json", str(values)]
    assert cli.main(["align", *arguments]) == 0
    assert picture.read_bytes()[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")
    assert read_json(values)["operators"] == ["align", "align", "skip_target", "align"]


def test_certainty_costs_nothing_and_the_impossible_infinitely_much(probabilities, tmp_path, capsys) -> None:
    """Neither -0.00 nor the 708.40 of the least number that stands for zero."""
    rows = [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0.5, 0, 0, 0, 0.5]]
    given = ["--probabilities", probabilities(probabilities=rows, targets=["it", "tastes", "good"])]
    assert cli.main(["align", *given]) == 0
    told = capsys.readouterr().out
    assert re.findall(r"P\d +(\S+)", told) == ["0.00", "0.00", "0.69"] and "A[n, m] = 0.6931 with" in told
    given = ["--probabilities", probabilities(probabilities=rows, targets=["it", "pretty", "good"])]
    assert cli.main(["align", *given, "--json", str(tmp_path / "a.json"), "--picture", str(tmp_path / "a.svg")]) == 0
    told = capsys.readouterr().out
    assert "∞" in told and "A[n, m] = ∞ with" in told and "708" not in told
    assert None in read_json(tmp_path / "a.json")["target_costs"] and read_json(tmp_path / "a.json")["total"] is None


@pytest.mark.parametrize("columns", [1, 2, 4, 9])
@pytest.mark.parametrize("delta", [1.0, 1.25])
def test_nothing_is_drawn_beyond_the_edges(columns, delta, probabilities) -> None:
    """Short sentences make narrow pictures, but the key needs its room."""
    repeated = {key: (EXAMPLE[key] * 3)[:columns] for key in ("probabilities", "targets")}
    described = describe_probabilities(probabilities(**repeated), skip_target_penalty=delta)
    figure = alignment_figure(described | {"total": 1234.5678})
    width, height = figure.get_size_inches() * figure.dpi
    with house_style():
        figure.canvas.draw()
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, text.get_text()


def test_a_model_aligns_a_pair_with_the_delta_that_it_was_trained_with(tmp_path, capsys) -> None:
    run = tiny.run_folder(tmp_path / "axe", "axe")
    config = read_yaml(run / "config.yaml")
    config["objective"]["skip_target_penalty"] = 3.0
    write_yaml(run / "config.yaml", config)
    arguments = ["align", "--model", str(run), "--source", "the old man.", "--target", "der alte Mann."]
    assert cli.main(arguments) == 0
    assert "with delta = 3" in capsys.readouterr().out
    assert cli.main([*arguments, "--skip-target-penalty", "1"]) == 0
    assert "with delta = 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"targets": None}, "targets is missing or not a list"),
        ({"targets": ["nice"]}, "targets: 'nice' is not in the vocabulary"),
        ({"vocabulary": ["it", "tastes", "pretty", "good", "it"]}, "vocabulary must hold <blank>, and no word twice"),
        ({"probabilities": [[0.5, 0.5]]}, "probabilities must be rows of 5 numbers"),
        ({"probabilities": [[0.5], [0.5, 0.5]]}, "probabilities must be rows of as many numbers each"),
        ({"probabilities": [[0.5, 0.5, 0.5, 0.0, 0.0]]}, "row 1 must be numbers from 0 to 1 that add up to 1"),
        (
            {"probabilities": [[1.0, 0, 0, 0, 0], [float("nan")] * 5]},
            "probabilities.json: probabilities: row 2 must be",
        ),
        ({"probabilities": []}, "probabilities must be rows of 5 numbers"),
    ],
)
def test_a_wrong_file_is_one_sentence_and_exit_code_2(changes, sentence, probabilities, capsys) -> None:
    assert cli.main(["align", "--probabilities", probabilities(**changes)]) == 2
    message = capsys.readouterr().err
    assert sentence in message and message.count("\n") == 1


def test_wrong_flags_are_one_sentence_and_exit_code_2(probabilities, tmp_path, capsys) -> None:
    teacher = tiny.run_folder(tmp_path / "teacher", "left_to_right")
    pair = ["--source", "the man.", "--target", "der Mann."]
    given = ["--probabilities", probabilities()]
    for arguments, sentence in (
        ([*given, "--picture", "a.gif"], "a.gif must end in one of .svg, .png, .pdf"),
        ([*given, "--skip-target-penalty", "0.5"], "skip_target_penalty must be a finite number >= 1, got 0.5"),
        ([*given, "--first-column", "loose"], "first_column must be one of paper, strict, got 'loose'"),
        ([*given, "--skip-target-penalty", "inf"], "skip_target_penalty must be a finite number >= 1, got inf"),
        ([*given, *pair], "--source and --target go with --model; a file of probabilities holds its own targets"),
        ([*given, "--target", "it"], "--source and --target go with --model"),
        (["--model", str(teacher)], "--model needs --source and --target"),
        (["--model", str(teacher), *pair], "is a left_to_right run; an alignment needs a run of masked or axe"),
        (["--model", str(tmp_path / "nowhere"), *pair], "no such folder"),
    ):
        assert cli.main(["align", *arguments]) == 2
        message = capsys.readouterr().err
        assert sentence in message and message.count("\n") == 1
