"""Small files for a look, and how often a training is looked at: each is what its name says, and no more than that."""

import pytest

from axenat.files import write_lines, write_text
from axenat.publishing import follow
from axenat.publishing.looks import LOG_LINES, SENTENCES, samples, tail


def test_the_end_of_a_log_is_its_last_lines_each_as_it_was_last_drawn(tmp_path) -> None:
    lines = [f"line {number}" for number in range(LOG_LINES + 50)]
    write_text(tmp_path / "log", "\n".join([*lines, "10 %\r50 %\r100 %"]))
    assert tail(tmp_path / "log").split("\n") == [*lines[51:], "100 %"]


def test_samples_are_the_first_sentences_of_each_file_line_by_line(tmp_path) -> None:
    config = {"corpus": "own", "source_language": "en", "target_language": "de"}
    for name, path in (("s", "own/test.en"), ("r", "own/test.de"), ("x", "own/valid.en"), ("t", "ell5.txt")):
        write_lines(tmp_path / path, [f"{name}{number}" for number in range(SENTENCES + 5)])
    words = samples(tmp_path / "ell5.txt", tmp_path, config, "test").split()
    expected = [("source", f"s{n}", "reference", f"r{n}", "translation", f"t{n}") for n in range(SENTENCES)]
    assert words == [word for sentence in expected for word in sentence]


@pytest.mark.parametrize(("said", "seconds"), [(None, 60), ("7.5", 7.5), ("0", 0.1), ("soon", 60)])
def test_the_environment_says_how_often_mlflow_gets_news(monkeypatch, said, seconds) -> None:
    monkeypatch.delenv("AXENAT_FOLLOW_SECONDS", raising=False)
    if said is not None:
        monkeypatch.setenv("AXENAT_FOLLOW_SECONDS", said)
    assert follow._seconds() == seconds
