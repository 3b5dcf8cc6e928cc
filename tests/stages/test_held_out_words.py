"""Valid and test are tokenised once: what reads their words writes the bytes that it writes from plain text."""

from pathlib import Path
from typing import Any

import pytest

from axenat.cli import main
from axenat.data.text import tokenise
from axenat.files import read_lines, write_lines, write_yaml
from axenat.stages import analyse, clean_references, translate, tune
from tests.support.evaluation_texts import Scored, tokenised
from tests.support.house import OBJECTIVES, run
from tests.support.toys import Toy, chinese, marked

each_toy = pytest.mark.parametrize("toy_of", [chinese, marked])
each_run = pytest.mark.parametrize("name", OBJECTIVES)


def forms(plain: Path, words: Path, flag: str) -> tuple[dict[str, Path], dict[str, Path]]:
    """The flags of a text as it is, and of its words, in a place where no other text lies."""
    return {flag: plain}, {f"{flag}_words": words}


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def translated(model: Path, place: Path, **flags: Any) -> dict[str, bytes]:
    out = {name: place / name for name in ("output", "tokenised", "subwords", "record")}
    run(translate, model=model, **flags, **out, threads=1)
    return files_of(place)


@each_toy
@pytest.mark.parametrize("objective", ["left_to_right", "masked"])
def test_translations_are_the_same_bytes(tmp_path, toy_of, objective) -> None:
    """Escaped signs, split hyphens and Chinese words would all change if they were tokenised once more."""
    toy: Toy = toy_of(tmp_path / "toy")
    toy.make(objective, beam_size=2, num_length_candidates=2)
    plain, words = forms(toy.text["source"], toy.words["source"], "input")
    found = [translated(toy.run, tmp_path / str(number), **flags) for number, flags in enumerate((plain, words))]
    assert found[0] == found[1] and found[0]["output"].strip()
    if toy_of is marked:
        assert translated(toy.run, tmp_path / "twice", input=toy.words["source"]) != found[0]


def tuned(model: Path, references: list[Path], out: Path, **flags: Any) -> bytes:
    run(tune, model=model, references=references, out=out, **flags, threads=1)
    return out.read_bytes()


@each_run
def test_a_tuning_is_the_same_bytes_and_needs_no_plain_source(house, tmp_path, name) -> None:
    words = {f"{side}_words": house.words("valid", side) for side in ("source", "target")}
    found = tuned(house.runs[name], house.references("valid"), tmp_path / "tuned.json", **words)
    assert found == (house.runs[name] / "tuned.json").read_bytes()


@each_toy
def test_a_tuning_is_the_same_bytes_under_rules_for_text(tmp_path, toy_of) -> None:
    toy: Toy = toy_of(tmp_path / "toy")
    toy.make("axe", length_multipliers=[1.0, 1.2], num_length_candidates=2)
    references, words = [toy.text["target"]], {f"{side}_words": path for side, path in toy.words.items()}
    plain = tuned(toy.run, references, tmp_path / "plain.json", source=toy.text["source"])
    assert tuned(toy.run, references, tmp_path / "words.json", **words) == plain
    if toy_of is marked:  # the words do count, those of the source and those of the target
        for side, path in toy.text.items():
            other = words | {f"{side}_words": path}
            assert tuned(toy.run, references, tmp_path / "other.json", **other) != plain


@each_toy
@pytest.mark.parametrize("objective", ["left_to_right", "masked", "axe"])
def test_an_analysis_is_the_same_bytes(tmp_path, toy_of, objective) -> None:
    toy: Toy = toy_of(tmp_path / "toy")
    toy.make(objective, beam_size=2, num_length_candidates=2)
    write_yaml(tmp_path / "analysis.yaml", {"length_bounds": [1, 5], "short_below": 12, "long_above": 13})
    flags = {"config": tmp_path / "analysis.yaml", "model": toy.run, "source": toy.text["source"], "split": "test"}
    texts = {"references": toy.text["target"], "hypothesis": toy.text["target"]}
    words = {f"{side}_words": path for side, path in toy.words.items()}
    others = [words, {}, {**words, "source_words": toy.text["source"]}, {**words, "target_words": toy.text["target"]}]
    for number, more in enumerate(others):
        run(analyse, **flags, **texts, **more, out=tmp_path / f"{number}.json", threads=1)
    found = [(tmp_path / f"{number}.json").read_bytes() for number in range(4)]
    assert found[0] == found[1]
    if toy_of is marked and objective == "axe":  # the words do count, those of the source and those of the target
        assert found[2] != found[0] != found[3]


def scored(texts: Scored, words: Path | None, out: str) -> bytes:
    texts.score(*(("--reference-words", words) if words else ()), "--metrics", texts.path("metrics.json"), out=out)
    return texts.path(out).read_bytes() + texts.path("metrics.json").read_bytes()


def words_of_all(texts: Scored) -> Path:
    """As `clean` and `clean_references` write them."""
    folder, first = texts.folder, texts.folder / "test.target"
    text = {"text": texts.rules} if texts.rules else {}
    write_yaml(folder / "clean.yaml", {"source_language": "en", "target_language": texts.language, **text})
    write_lines(first, tokenised(read_lines(texts.references[0]), texts.language))
    more = {"target": first, "references": texts.references[1:], "out": folder / "test.references"}
    run(clean_references, config=folder / "clean.yaml", **more)
    return folder / "test.references"


@pytest.mark.parametrize("language", ["de", "ro", "zh"])
def test_a_score_is_the_same_bytes_with_several_references(tmp_path, language) -> None:
    texts = Scored(folder=tmp_path, language=language).write()
    words = words_of_all(texts)
    found = scored(texts, words, "words.json")
    assert found == scored(texts, None, "plain.json")
    write_lines(words, reversed(read_lines(words)))
    assert scored(texts, words, "other.json") != found, "the words do count"


def test_the_words_of_all_references_are_a_column_each_and_made_by_the_rules_of_the_corpus(tmp_path) -> None:
    texts = Scored(folder=tmp_path, language="de").write()
    rows = [line.split("\t") for line in read_lines(words_of_all(texts))]
    columns = [list(column) for column in zip(*rows, strict=True)]
    assert columns == [tokenised(read_lines(path), "de") for path in texts.references]
    assert any("@-@" in line for line in columns[1]) and any("&quot;" in line for line in columns[1])


def test_references_stand_in_the_order_in_which_they_are_given(tmp_path) -> None:
    for name, lines in {"a": ["A 1"], "b": ["B 2."], "c": ["C 3,"]}.items():
        write_lines(tmp_path / name, lines)
    write_yaml(tmp_path / "clean.yaml", {"source_language": "de", "target_language": "en"})
    flags = {"config": tmp_path / "clean.yaml", "target": tmp_path / "a", "out": tmp_path / "out"}
    run(clean_references, **flags, references=[tmp_path / "b", tmp_path / "c"])
    assert (tmp_path / "out").read_text() == f"A 1\t{tokenise('B 2.', 'en')}\t{tokenise('C 3,', 'en')}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--input", "a", "--input-words", "b", "--model", "m"], "argument --input-words: not allowed with"),
        (["--references", "a", "--model", "m", "--out", "o"], "arguments --source --source-words is required"),
    ],
)
def test_plain_text_and_words_are_one_or_the_other(capsys, words, sentence) -> None:
    with pytest.raises(SystemExit):
        main(["translate" if "--input" in words else "tune", *words])
    assert sentence in capsys.readouterr().err


def test_further_references_of_another_length_are_refused_by_name(tmp_path, capsys) -> None:
    write_lines(tmp_path / "a", ["A", "B"])
    write_lines(tmp_path / "b", ["A"])
    write_yaml(tmp_path / "clean.yaml", {"source_language": "de", "target_language": "en"})
    words = ["--config", tmp_path / "clean.yaml", "--target", tmp_path / "a", "--references", tmp_path / "b"]
    assert main(["clean_references", *map(str, words), "--out", str(tmp_path / "out")]) == 2
    assert f"{tmp_path / 'a'} has 2 lines but {tmp_path / 'b'} has 1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
