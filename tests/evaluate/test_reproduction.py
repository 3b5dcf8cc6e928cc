from dataclasses import replace

from axenat.evaluate.reproduction import MARK, Departure, departures, differences, package_texts
from axenat.evaluate.study_record import RunRecord
from axenat.presets import PRESETS

PYTHON = f'''
"""A module. {MARK} in its
first lines."""


def outer():
    # Half up.
    # {MARK} it does not say.
    x = "no remark"
    y = f"{MARK} {{x}} is told elsewhere."

    def _inner():
        """Says nothing."""
        return x  # {MARK} here, too
'''
README = f"""
| Key | Meaning | Default |
|---|---|---|
| `plain` | nothing odd | 1 |
| `odd` | one thing. {MARK} another, `x` or \\| y | 2 |
"""


def test_docstrings_and_comments_are_told_with_the_function_they_are_in() -> None:
    assert departures({"axenat/a.py": PYTHON, "axenat/b.py": "x = 1"}) == [
        Departure(where="axenat/a.py", before="A module.", what="in its first lines."),
        Departure(where="axenat/a.py, outer", before="Half up.", what="it does not say."),
        Departure(where="axenat/a.py, inner", before="", what="here, too"),
    ]


def test_a_row_of_a_table_is_told_with_its_key() -> None:
    (found,) = departures({"config/README.md": README})
    assert found == Departure(where="config/README.md, odd", before="one thing.", what=r"another, `x` or \| y")


def test_every_note_of_the_package_is_found_and_none_twice() -> None:
    texts = package_texts()
    found = departures(texts)
    assert len(found) == sum(text.count(MARK) - text.count(f'f"{MARK}') for text in texts.values()) > 3
    assert all(one.what and "{" not in one.what for one in found)
    assert not any("reproduction" in one.where for one in found)


def run(name: str, objective: str = "axe", preset: str = "base", **train: float) -> RunRecord:
    sections = {section: dict(PRESETS[preset][section]) for section in ("model", "objective", "train")}
    sections["objective"]["name"] = objective
    sections["train"] |= train
    return RunRecord(name=name, config=sections, decode={**PRESETS[preset]["decode"], "engine": "torch"})


def test_a_run_with_the_papers_settings_differs_in_nothing() -> None:
    assert differences([run("axe"), run("teacher", "left_to_right", "large"), RunRecord(name="unknown")]) == []


def test_each_key_that_differs_is_told_once_with_the_runs_of_each_value() -> None:
    (steps,) = differences([run("a", steps=5000), run("b", steps=5000), run("c"), run("d", steps=10)])
    assert (steps.key, steps.paper) == ("train.steps", "300,000")
    assert steps.ours == (("5,000", ("a", "b")), ("10", ("d",)))


def test_a_run_that_starts_from_another_says_so_first() -> None:
    warm = run("warm", steps=10)
    first, second = differences([replace(warm, config={**warm.config, "start_from": "teacher"}), run("cold")])
    assert (first.key, first.paper) == ("start_from", "random weights") and second.key == "train.steps"
    assert first.ours == (("weights of teacher", ("warm",)),)


def test_a_student_of_the_teachers_size_differs() -> None:
    found = differences([run("axe", preset="large")])
    assert {one.key: (one.paper, one.ours[0][0]) for one in found} == {
        "model.width": ("512", "1,024"), "model.hidden": ("2,048", "4,096"), "model.heads": ("8", "16")
    }  # fmt: skip
